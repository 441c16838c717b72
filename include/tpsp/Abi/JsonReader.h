/// Reads and writes JSON objects strictly. Unknown keys, keys that are there
/// twice, and values of another type or out of their range are errors. An error
/// has the key and the value.
///
/// A struct lists its fields once, as key, member and rule. Reading, writing
/// and the refusal of other keys follow from the list, in its order:
///
///   template <typename Object> void fields(Object &field, Tier &tier) {
///     field("name", tier.name);
///     field("bus_gbs", tier.bandwidth, Rule{1e9, 1e-9});
///   }
///
///   std::string problem;
///   readFields(json, JsonPath{"", problem}, tier);
///   // problem: "bus_gbs: expected a number above 0, not \"fast\""
///
/// A member of another type needs a function readJson(value, path, rule,
/// member) in its namespace, and writtenJson(member, rule) to be written
/// (JsonWriter.h).
#ifndef TPSP_ABI_JSONREADER_H
#define TPSP_ABI_JSONREADER_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/Status.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tpsp {

/// A value whose objects keep the order of the file.
using OrderedJson = nlohmann::ordered_json;

/// Parses a text. INVALID if it is not JSON ("not JSON: line 3, ..."), or if an
/// object has a key twice. So are values that are nested more than `deepest`
/// deep.
rt::Status parseJson(std::string_view text, OrderedJson &out,
                     size_t deepest = 64);

/// A value in one line, shortened if it is long; a name without quotes.
std::string shownJson(const OrderedJson &value);
std::string shownName(const std::string &name);

/// The values that a field may have. Bounds are in the unit of the file, which
/// people read. The member is the file's value times `unit`.
struct Rule {
  double unit = 1, least = 0, most = 1e30;
  bool isRequired = true;
  /// The significant digits of a number that is written; 0: those of the
  /// writer (JsonWriter.h).
  int digits = 0;
};

inline constexpr Rule optional{1, 0, 1e30, /*isRequired=*/false};

/// The values of an enumeration that a file may have, in the order in which
/// messages list them.
template <typename Enum> inline constexpr int choices = 0;

/// A path in a file, whose value may be refused. `problem` is the first problem
/// found; empty if there is none.
struct JsonPath {
  std::string path;
  std::string &problem;

  JsonPath at(const std::string &key) const;
  JsonPath at(size_t number) const;
  /// "PATH: MESSAGE".
  void refuse(const std::string &message) const;
  /// "PATH: expected WHAT, not VALUE".
  void expected(const std::string &what, const OrderedJson &found) const;
};

/// The keys of an object that are read, and those that nobody reads. A value of
/// null counts as absent.
class JsonObject {
public:
  /// Refuses a value that is no object. Both arguments outlive the reader.
  JsonObject(const OrderedJson &value, JsonPath path);

  /// Reads a field into `out`, or refuses it. An absent field leaves `out` as
  /// it is; it is refused if the rule requires it.
  template <typename T>
  void operator()(const std::string &key, T &&out, Rule rule = {}) {
    if (const OrderedJson *found = find(key))
      readJson(*found, path.at(key), rule, out);
    else if (rule.isRequired)
      path.at(key).refuse("is missing");
  }
  /// Reads a field of a map, which may lack it.
  template <typename T>
  void entry(const std::string &key, std::map<int64_t, T> &out,
             int64_t number) {
    if (find(key))
      (*this)(key, out[number]);
  }
  /// Refuses a field for a reason that concerns other fields, too.
  void refuseIf(bool isWrong, const std::string &key,
                const std::string &message) {
    if (isWrong)
      path.at(key).refuse(message);
  }

  /// Whether the object has the key, which does not count as read.
  bool has(const std::string &key) const;
  /// The value of a key, which counts as read; null if it is absent.
  const OrderedJson *find(const std::string &key);
  /// The path of a key, to refuse its value.
  JsonPath at(const std::string &key) const { return path.at(key); }
  /// The paths of keys that were not read, with the nearest key that was:
  /// "'heads' (did you mean 'head'?)".
  std::vector<std::string> unknown() const;
  /// Refuses unknown keys. If a key is missing, they are named with it.
  void done() const;

private:
  /// Keys that were not asked for, in the order of the file.
  std::vector<std::string> unread() const;

  const OrderedJson *value;
  JsonPath path;
  /// Keys that were asked for, in order, without repetition.
  std::vector<std::string> known;
};

/// If the problem is a missing key, adds the unknown keys: one of them is often
/// its misspelling.
void addUnknown(std::string &problem, const std::vector<std::string> &unknown);

/// Reads a struct that has fields; refuses other keys.
template <typename Struct>
void readFields(const OrderedJson &value, const JsonPath &path, Struct &out) {
  JsonObject reader(value, path);
  fields(reader, out);
  reader.done();
}

//===----------------------------------------------------------------------===//
// Values that are read
//===----------------------------------------------------------------------===//

/// Whether the value is a number, whole if that is asked for, within the rule;
/// otherwise refuses it.
bool isNumber(const OrderedJson &value, const JsonPath &path, Rule rule,
              bool isWhole);

/// Reads a number; it must be whole if the field is an integer.
template <typename Number,
          std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
              Number &out) {
  using Limits = std::numeric_limits<Number>;
  rule.least = std::max(rule.least, double(Limits::lowest()));
  rule.most = std::min(rule.most, double(Limits::max()));
  if (!isNumber(value, path, rule, std::is_integral_v<Number>))
    return;
  out = rule.unit == 1 ? value.get<Number>()
                       : Number(value.get<double>() * rule.unit);
}
void readJson(const OrderedJson &value, const JsonPath &path, Rule,
              std::string &out);
void readJson(const OrderedJson &value, const JsonPath &path, Rule, bool &out);

/// Reads the name of a choice.
template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
              Enum &out) {
  std::string text, all;
  readJson(value, path, rule, text);
  for (Enum choice : choices<Enum>) {
    all += (all.empty() ? "" : ", ") + std::string(nameOf(choice));
    if (nameOf(choice) == text) {
      out = choice;
      return;
    }
  }
  path.refuse("expected one of " + all + ", not '" + text + "'");
}

template <typename T>
void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
              std::optional<T> &out) {
  readJson(value, path, rule, out.emplace());
}

/// Reads an object from any names to values.
template <typename T>
void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
              std::map<std::string, T> &out) {
  if (!value.is_object())
    return path.expected("an object", value);
  for (const auto &[name, entry] : value.items())
    readJson(entry, path.at(name), rule, out[name]);
}

template <typename T>
void readJson(const OrderedJson &value, const JsonPath &path, Rule rule,
              std::vector<T> &out) {
  if (!value.is_array())
    return path.expected("a list", value);
  for (const OrderedJson &entry : value) {
    JsonPath here = path.at(out.size());
    readJson(entry, here, rule, out.emplace_back());
  }
}

/// Reads a struct that has fields.
template <typename Struct, std::enable_if_t<std::is_class_v<Struct>, int> = 0>
void readJson(const OrderedJson &value, const JsonPath &path, Rule,
              Struct &out) {
  readFields(value, path, out);
}

} // namespace tpsp

#endif // TPSP_ABI_JSONREADER_H
