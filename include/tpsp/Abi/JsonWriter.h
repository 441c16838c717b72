/// Writes structs as JSON objects, from the lists of fields that JsonReader.h
/// reads.
#ifndef TPSP_ABI_JSONWRITER_H
#define TPSP_ABI_JSONWRITER_H

#include "tpsp/Abi/JsonReader.h"

#include <cmath>

namespace tpsp {

class JsonWriter {
public:
  /// Numbers get so many significant digits, unless their rule says another
  /// number; 0: all.
  explicit JsonWriter(int digits = 0) : digits(digits) {}

  /// Writes a field. Optional fields without content are left out.
  template <typename T>
  void operator()(const char *key, T &&value, Rule rule = {}) {
    rule.digits = rule.digits ? rule.digits : digits;
    OrderedJson field = writtenJson(value, rule);
    if (rule.isRequired || !(field.empty() || field == ""))
      json[key] = std::move(field);
  }
  template <typename T>
  void entry(const char *key, std::map<int64_t, T> &all, int64_t number) {
    if (auto found = all.find(number); found != all.end())
      (*this)(key, found->second);
  }
  void refuseIf(bool, const char *, const std::string &) {}

  OrderedJson json = OrderedJson::object();

private:
  int digits;
};

/// Writes a struct that has fields. It is not changed: the lists are of members
/// that can be read, too.
template <typename Struct>
OrderedJson writtenFields(Struct &value, int digits = 0) {
  JsonWriter writer(digits);
  fields(writer, value);
  return std::move(writer.json);
}

inline OrderedJson writtenJson(double value, Rule rule) {
  value /= rule.unit;
  if (value == 0 || rule.digits == 0)
    return value;
  double scale =
      std::pow(10, rule.digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}
inline OrderedJson writtenJson(int64_t value, Rule) { return value; }
inline OrderedJson writtenJson(uint64_t value, Rule) { return value; }
inline OrderedJson writtenJson(std::string &value, Rule) { return value; }
inline OrderedJson writtenJson(bool value, Rule) {
  return value ? OrderedJson(true) : OrderedJson();
}
template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
OrderedJson writtenJson(Enum value, Rule) {
  return nameOf(value);
}
template <typename T>
OrderedJson writtenJson(std::optional<T> &value, Rule rule) {
  return value ? writtenJson(*value, rule) : OrderedJson();
}
template <typename T>
OrderedJson writtenJson(std::vector<T> &values, Rule rule) {
  OrderedJson list = OrderedJson::array();
  for (T &value : values)
    list.push_back(writtenJson(value, rule));
  return list;
}
template <typename T>
OrderedJson writtenJson(std::map<std::string, T> &values, Rule rule) {
  OrderedJson json = OrderedJson::object();
  for (auto &[name, value] : values)
    json[name] = writtenJson(value, rule);
  return json;
}
template <typename Struct, std::enable_if_t<std::is_class_v<Struct>, int> = 0>
OrderedJson writtenJson(Struct &value, Rule rule) {
  return writtenFields(value, rule.digits);
}

} // namespace tpsp

#endif // TPSP_ABI_JSONWRITER_H
