// Reads and writes descriptions of machines as JSON.
#include "HardwareFields.h"

#include "tpsp/Abi/JsonFault.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

using namespace tpsp;
using Json = nlohmann::ordered_json;

namespace tpsp {
/// The text of a built-in description, or null (EmbeddedHardware.cpp).
const char *embeddedHardware(llvm::StringRef name);
} // namespace tpsp

namespace {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::string shown(const Json &value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// A path in the description, whose value may be refused. `problem` is the
/// first problem found.
struct JsonPath {
  std::string path;
  std::string &problem;

  JsonPath at(const std::string &key) const {
    return {path.empty() ? key : path + "." + key, problem};
  }
  JsonPath at(size_t number) const {
    return {path + "[" + std::to_string(number) + "]", problem};
  }
  void refuse(const std::string &message) const {
    if (problem.empty())
      problem = path.empty() ? message : path + ": " + message;
  }
  void expected(const std::string &what, const Json &found) const {
    refuse("expected " + what + ", not " + shown(found));
  }
};

template <typename Struct>
void readObject(const Json &value, const JsonPath &path, Struct &out);

/// "a number from 0 to 4", "a whole number from 1 to 7", "a number above 0".
template <typename Number> std::string rangeText(Rule rule) {
  std::string number =
      std::is_integral_v<Number> ? "a whole number" : "a number";
  auto text = [](double bound) {
    return llvm::formatv("{0}", int64_t(bound)).str();
  };
  bool isOpen = rule.most >= Rule().most;
  if (rule.least > 0 && rule.least < 1)
    return number + " above 0" + (isOpen ? "" : " to " + text(rule.most));
  return number + " from " + text(rule.least) +
         (isOpen ? " on" : " to " + text(rule.most));
}

/// Reads a number; it must be whole if the field is an integer.
template <typename Number,
          std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void read(const Json &value, const JsonPath &path, Rule rule, Number &out) {
  constexpr bool isWhole = std::is_integral_v<Number>;
  if ((isWhole ? value.is_number_integer() : value.is_number()) &&
      value.get<double>() >= rule.least && value.get<double>() <= rule.most)
    out = Number(value.get<double>() * rule.unit);
  else
    path.expected(rangeText<Number>(rule), value);
}

void read(const Json &value, const JsonPath &path, Rule rule,
          std::optional<int64_t> &out) {
  read(value, path, rule, out.emplace());
}

void read(const Json &value, const JsonPath &path, Rule, std::string &out) {
  if (value.is_string())
    out = value.get<std::string>();
  else
    path.expected("a string", value);
}

void read(const Json &value, const JsonPath &path, Rule, bool &out) {
  if (value.is_boolean())
    out = value.get<bool>();
  else
    path.expected("true or false", value);
}

template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
void read(const Json &value, const JsonPath &path, Rule rule, Enum &out) {
  std::string text, all;
  read(value, path, rule, text);
  for (Enum choice : choices<Enum>) {
    all += (all.empty() ? "" : ", ") + std::string(nameOf(choice));
    if (nameOf(choice) == text) {
      out = choice;
      return;
    }
  }
  path.refuse("expected one of " + all + ", not '" + text + "'");
}

/// Reads numbers above 0.
std::vector<double> readNumbers(const Json &value, const JsonPath &path,
                                double unit = 1) {
  std::vector<double> list;
  if (!value.is_array() || value.empty()) {
    path.expected("a list of numbers", value);
    return list;
  }
  for (const Json &entry : value) {
    double number = entry.is_number() ? entry.get<double>() * unit : 0;
    if (!(number > 0 && std::isfinite(number)))
      path.at(list.size()).expected("a number above 0", entry);
    list.push_back(number);
  }
  return list;
}

void read(const Json &value, const JsonPath &path, Rule, Axis out) {
  out.points = readNumbers(value, path);
  for (size_t i = 1; i < out.points.size(); ++i)
    if (out.points[i] <= out.points[i - 1])
      path.at(i).expected("more than the one before", value[i]);
}

void read(const Json &value, const JsonPath &path, Rule rule, Grid out) {
  auto [axis, size] = out.axes.front();
  if (out.axes.size() == 1) {
    std::vector<double> numbers = readNumbers(value, path, rule.unit);
    if (numbers.size() != size)
      path.refuse(std::string("expected a number for each ") + axis);
    out.numbers.insert(out.numbers.end(), numbers.begin(), numbers.end());
  } else if (!value.is_array() || value.size() != size) {
    path.refuse(std::string("expected a list for each ") + axis);
  } else {
    for (size_t i = 0; i < size; ++i)
      read(value[i], path.at(i), rule,
           Grid{out.axes.drop_front(), out.numbers});
  }
}

/// Reads [[bytes, value], ...], ascending in bytes.
void read(const Json &value, const JsonPath &path, Rule rule, SizeTable &out) {
  if (!value.is_array() || value.empty())
    return path.expected("a list of [bytes, value] pairs", value);
  for (const Json &entry : value) {
    JsonPath here = path.at(out.size());
    std::vector<double> pair = readNumbers(entry, here);
    if (pair.size() != 2)
      return here.expected("[bytes, value]", entry);
    if (!out.empty() && pair[0] <= out.back().bytes)
      here.expected("more bytes than the one before", entry[0]);
    out.push_back({pair[0], pair[1] * rule.unit});
  }
}

/// Reads {"8": [[bytes, value], ...], ...}: a table for each group size.
void read(const Json &value, const JsonPath &path, Rule rule,
          std::map<int64_t, SizeTable> &out) {
  if (!value.is_object())
    return path.expected("an object from group sizes to tables", value);
  for (const auto &entry : value.items()) {
    int64_t group = 0;
    if (llvm::StringRef(entry.key()).getAsInteger(10, group) || group < 2 ||
        group > (1 << 20))
      return path.refuse("expected a group of at least 2 ranks, not '" +
                         entry.key() + "'");
    read(entry.value(), path.at(entry.key()), rule, out[group]);
  }
}

/// Reads {"2x8": [[bytes, value], ...], ...}: a table for each number of nodes
/// and of ranks in each.
void read(const Json &value, const JsonPath &path, Rule rule,
          std::map<int64_t, std::map<int64_t, SizeTable>> &out) {
  if (!value.is_object())
    return path.expected("an object from places to tables", value);
  for (const auto &entry : value.items()) {
    auto [nodes, perNode] = llvm::StringRef(entry.key()).split('x');
    int64_t numNodes = 0, numPerNode = 0;
    if (nodes.getAsInteger(10, numNodes) ||
        perNode.getAsInteger(10, numPerNode) || numNodes < 2 ||
        numPerNode < 1 || numNodes > (1 << 20) || numPerNode > (1 << 16))
      return path.refuse("expected nodes, at least 2, and ranks of each, as in "
                         "'2x8', not '" +
                         entry.key() + "'");
    SizeTable &table = out[numPerNode][numNodes];
    if (!table.empty())
      return path.refuse("'" + entry.key() + "' is there twice");
    read(entry.value(), path.at(entry.key()), rule, table);
  }
}

void read(const Json &value, const JsonPath &path, Rule,
          std::vector<CollectiveRates> &out) {
  if (!value.is_array())
    return path.expected("a list", value);
  for (const Json &entry : value) {
    JsonPath here = path.at(out.size());
    readObject(entry, here, out.emplace_back());
  }
}

/// Reads a struct that has fields.
template <typename Struct, std::enable_if_t<std::is_class_v<Struct>, int> = 0>
void read(const Json &value, const JsonPath &path, Rule, Struct &out) {
  readObject(value, path, out);
}

class ObjectReader {
public:
  ObjectReader(const Json &value, const JsonPath &path)
      : value(value), path(path) {
    if (!value.is_object())
      path.expected("an object", value);
  }

  template <typename T>
  void operator()(const char *key, T &&out, Rule rule = {}) {
    if (const Json *found = find(key))
      read(*found, path.at(key), rule, out);
    else if (rule.isRequired)
      path.at(key).refuse("is missing");
  }
  template <typename T>
  void entry(const char *key, std::map<int64_t, T> &out, int64_t number) {
    if (find(key))
      (*this)(key, out[number]);
  }
  void refuseIf(bool isWrong, const char *key, const std::string &message) {
    if (isWrong)
      path.at(key).refuse(message);
  }
  const Json *find(const char *key) {
    known.insert(key);
    return value.is_object() && value.contains(key) ? &value.at(key) : nullptr;
  }
  /// Refuses unknown keys.
  void done() {
    std::string all = llvm::join(known, ", ");
    for (const auto &entry : value.items())
      if (value.is_object() && !known.count(entry.key()))
        path.at(entry.key()).refuse("there is no such key; there are " + all);
  }

private:
  const Json &value;
  const JsonPath &path;
  std::set<std::string> known;
};

template <typename Struct>
void readObject(const Json &value, const JsonPath &path, Struct &out) {
  ObjectReader reader(value, path);
  fields(reader, out);
  reader.done();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename Struct> Json writtenObject(Struct &value);

/// Writes the rule's digits: four, because most measurements have no more.
Json written(double value, Rule rule) {
  value /= rule.unit;
  if (value == 0)
    return 0.0;
  double scale =
      std::pow(10, rule.digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}
Json written(int64_t value, Rule) { return value; }
Json written(std::optional<int64_t> value, Rule) {
  return value ? Json(*value) : Json();
}
Json written(std::string &value, Rule) { return value; }
Json written(bool value, Rule) { return value ? Json(true) : Json(); }
template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
Json written(Enum value, Rule) {
  return nameOf(value);
}
Json written(Axis axis, Rule) { return axis.points; }

/// Writes nested lists of the axes' sizes, with the numbers from `next` on.
Json written(decltype(Grid::axes) axes, Rule rule, const double *&next) {
  Json list = Json::array();
  for (size_t i = 0; i < axes.front().second; ++i)
    list.push_back(axes.size() > 1 ? written(axes.drop_front(), rule, next)
                                   : written(*next++, rule));
  return list;
}
Json written(Grid grid, Rule rule) {
  const double *next = grid.numbers.data();
  return grid.numbers.empty() ? Json() : written(grid.axes, rule, next);
}

Json written(SizeTable &table, Rule rule) {
  Json list = Json::array();
  for (const SizePoint &point : table)
    list.push_back({int64_t(point.bytes), written(point.value, rule)});
  return list;
}
Json written(std::map<int64_t, SizeTable> &byGroup, Rule rule) {
  Json json;
  for (auto &[group, table] : byGroup)
    json[std::to_string(group)] = written(table, rule);
  return json;
}
Json written(std::map<int64_t, std::map<int64_t, SizeTable>> &places,
             Rule rule) {
  Json json;
  for (auto &[perNode, byNodes] : places)
    for (auto &[nodes, table] : byNodes)
      json[std::to_string(nodes) + "x" + std::to_string(perNode)] =
          written(table, rule);
  return json;
}
Json written(std::vector<CollectiveRates> &all, Rule) {
  Json list = Json::array();
  for (CollectiveRates &rates : all)
    list.push_back(writtenObject(rates));
  return list;
}
template <typename Struct, std::enable_if_t<std::is_class_v<Struct>, int> = 0>
Json written(Struct &value, Rule) {
  return writtenObject(value);
}

struct ObjectWriter {
  Json json = Json::object();

  /// Writes a field. Optional fields without content are left out.
  template <typename T>
  void operator()(const char *key, T &&value, Rule rule = {}) {
    Json field = written(value, rule);
    if (rule.isRequired || !(field.empty() || field == ""))
      json[key] = std::move(field);
  }
  template <typename T>
  void entry(const char *key, std::map<int64_t, T> &all, int64_t number) {
    if (auto found = all.find(number); found != all.end())
      (*this)(key, found->second);
  }
  void refuseIf(bool, const char *, const std::string &) {}
};

template <typename Struct> Json writtenObject(Struct &value) {
  ObjectWriter writer;
  fields(writer, value);
  return writer.json;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Merges a description with its base. A description need not repeat a built-in
/// one: with "base", its outermost keys replace the base's.
Json withBase(Json json, const JsonPath &path) {
  if (!json.is_object() || !json.contains("base"))
    return json;
  const Json &base = json["base"];
  const char *text =
      base.is_string() ? embeddedHardware(base.get<std::string>()) : nullptr;
  if (!text) {
    path.at("base").expected("the name of a built-in description", base);
    return json;
  }
  // Built-in descriptions are valid, and have no base themselves.
  Json merged = withBase(Json::parse(text), path);
  merged.update(json);
  return merged;
}

} // namespace

llvm::Expected<Hardware> tpsp::parseHardware(llvm::StringRef text,
                                             llvm::StringRef origin) {
  // No description is nested so deep, and recursion over values must be
  // bounded.
  bool isTooDeep = false;
  auto keepShallow = [&](int depth, Json::parse_event_t, const Json &) {
    isTooDeep |= depth > 64;
    return !isTooDeep;
  };
  std::string problem;
  Json json = Json::parse(text.begin(), text.end(), keepShallow,
                          /*allow_exceptions=*/false);
  if (std::string fault = jsonFault(text); !fault.empty())
    problem = "not JSON: " + fault;
  if (isTooDeep)
    problem = "brackets are nested too deep for a description of hardware";
  if (!problem.empty())
    return llvm::createStringError(origin + ": " + problem);
  JsonPath outermost{"", problem};
  json = withBase(std::move(json), outermost);
  Hardware result;
  ObjectReader reader(json, outermost);
  reader.find("base");
  fields(reader, result);
  reader.done();
  if (!problem.empty())
    return llvm::createStringError(origin + ": " + problem +
                                   " (docs/Hardware.md has every key)");
  return result;
}

/// The outermost keys of `json` that differ from those of the base. All keys
/// if it lacks one of the base's, since a file cannot take a key away.
static Json differenceOf(Json json, llvm::StringRef base, const Json &same) {
  Json result = {{"base", base.str()}};
  for (const auto &[key, value] : same.items())
    if (!json.contains(key))
      return json;
  for (const auto &[key, value] : json.items())
    if (!same.contains(key) || same[key] != value)
      result[key] = value;
  return result;
}

std::string tpsp::toJson(const Hardware &hardware, llvm::StringRef base) {
  Hardware copy = hardware; // fields() needs members that can be written
  Json json = writtenObject(copy);
  if (const char *text = embeddedHardware(base)) {
    Hardware builtIn = llvm::cantFail(parseHardware(text, base));
    json = differenceOf(std::move(json), base, writtenObject(builtIn));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}
