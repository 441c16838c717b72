/// Reads a large JSON object without keeping it: the elements of its lists are
/// handed over one after another.
#ifndef TPSP_LIB_CHECK_JSONELEMENTS_H
#define TPSP_LIB_CHECK_JSONELEMENTS_H

#include "tpsp/Abi/Status.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>

namespace tpsp::check {

/// The receivers of a file's parts. Each returns a failure to stop.
struct JsonParts {
  using Json = nlohmann::json;
  /// The keys of the top object whose values are wanted.
  std::set<std::string> keys;
  /// An element of a list of the top object, with the list's key.
  std::function<rt::Status(const std::string &, const Json &)> element;
  /// Any other value of the top object, with its key. A list is null here.
  std::function<rt::Status(const std::string &, const Json &)> value;
};

/// Reads the JSON object in a file. At most one element is in memory; what is
/// nested in it more than 16 deep is left out. INVALID if the file is no JSON
/// object, with the byte from which on it is none; or the failure of a
/// receiver.
rt::Status readJsonParts(const std::string &path, const JsonParts &parts);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_JSONELEMENTS_H
