/// Enumerations with names in JSON: a value is its name.
#ifndef TPSP_RUNTIME_DRIVER_FILES_ENUMJSON_H
#define TPSP_RUNTIME_DRIVER_FILES_ENUMJSON_H

#include "tpsp/Abi/EnumNames.h"

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>

template <typename Enum>
struct nlohmann::adl_serializer<Enum, std::enable_if_t<tpsp::hasNames<Enum>>> {
  template <typename Json> static void to_json(Json &json, Enum value) {
    json = tpsp::nameOf(value);
  }
  /// Throws std::out_of_range if no value has the name.
  template <typename Json>
  static void from_json(const Json &json, Enum &value) {
    auto name = json.template get<std::string>();
    std::optional<Enum> found = tpsp::findNamed<Enum>(name);
    if (!found)
      throw std::out_of_range("an unknown name, '" + name + "'");
    value = *found;
  }
};

#endif // TPSP_RUNTIME_DRIVER_FILES_ENUMJSON_H
