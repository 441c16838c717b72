/// Enumerations whose values have names. An enumeration lists its names once.
/// Messages, the plan dialect, plan files and reports use that list.
///
///   enum class Side { Left, Right };
///   template <> struct EnumNames<Side> {
///     static constexpr const char *all[] = {"left", "right"};
///   };
///   nameOf(Side::Left); findNamed<Side>("right");
#ifndef TPSP_ABI_ENUMNAMES_H
#define TPSP_ABI_ENUMNAMES_H

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tpsp {

/// `all`: the names, in the order of the values, which are 0, 1, 2, ...
template <typename Enum> struct EnumNames {};

template <typename Enum, typename = void> constexpr bool hasNames = false;
template <typename Enum>
constexpr bool hasNames<Enum, std::void_t<decltype(EnumNames<Enum>::all)>> =
    true;

template <typename Enum, std::enable_if_t<hasNames<Enum>, int> = 0>
constexpr const char *nameOf(Enum value) {
  return EnumNames<Enum>::all[static_cast<size_t>(value)];
}

/// The value of this name; nullopt if there is none.
template <typename Enum>
constexpr std::optional<Enum> findNamed(std::string_view name) {
  for (size_t value = 0; value < std::size(EnumNames<Enum>::all); ++value)
    if (name == EnumNames<Enum>::all[value])
      return Enum(value);
  return std::nullopt;
}

} // namespace tpsp

#endif // TPSP_ABI_ENUMNAMES_H
