#include "tpsp/Abi/JsonReader.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/JsonFault.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

using namespace tpsp;

rt::Status tpsp::parseJson(std::string_view text, OrderedJson &out,
                           size_t deepest) {
  if (std::string fault = jsonFault(text, deepest); !fault.empty())
    return rt::invalid("not JSON: {}", fault);
  out = OrderedJson::parse(text);
  return {};
}

static std::string oneLine(const OrderedJson &value) {
  return value.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
}

static std::string shortened(std::string text, size_t longest) {
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string tpsp::shownJson(const OrderedJson &value) {
  return shortened(oneLine(value), 60);
}

std::string tpsp::shownName(const std::string &name) {
  std::string text = oneLine(name);
  return shortened(text.substr(1, text.size() - 2), 80);
}

//===----------------------------------------------------------------------===//
// JsonPath
//===----------------------------------------------------------------------===//

/// A key that reads as several, such as "layers.*.w", is quoted.
static std::string keyText(const std::string &key) {
  bool isPlain = key.find_first_of(".[] ") == std::string::npos;
  return isPlain ? shownName(key) : "'" + shownName(key) + "'";
}

JsonPath JsonPath::at(const std::string &key) const {
  return {path.empty() ? keyText(key) : path + "." + keyText(key), problem};
}

JsonPath JsonPath::at(size_t number) const {
  return {fmt::format("{}[{}]", path, number), problem};
}

void JsonPath::refuse(const std::string &message) const {
  if (problem.empty())
    problem = path.empty() ? message : path + ": " + message;
}

void JsonPath::expected(const std::string &what,
                        const OrderedJson &found) const {
  refuse("expected " + what + ", not " + shownJson(found));
}

//===----------------------------------------------------------------------===//
// JsonObject
//===----------------------------------------------------------------------===//

JsonObject::JsonObject(const OrderedJson &value, JsonPath path)
    : value(&value), path(std::move(path)) {
  if (!value.is_object())
    this->path.expected("an object", value);
}

bool JsonObject::has(const std::string &key) const {
  auto found = value->find(key);
  return found != value->end() && !found->is_null();
}

const OrderedJson *JsonObject::find(const std::string &key) {
  if (std::find(known.begin(), known.end(), key) == known.end())
    known.push_back(key);
  return has(key) ? &value->at(key) : nullptr;
}

/// The number of letters to change, insert or remove.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t changed = before + (a[i] != b[j]);
      before = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, before + 1});
    }
  }
  return row.back();
}

/// The name that `key` is probably a misspelling of; "" if there is none.
static std::string nearest(const std::string &key,
                           const std::vector<std::string> &names) {
  constexpr size_t longest = 100;
  std::string best;
  size_t least = key.size() > longest ? 0 : std::max<size_t>(2, key.size() / 4);
  for (const std::string &name : names)
    if (size_t changes = distance(key, name); changes <= least) {
      least = changes - 1;
      best = name;
    }
  return best;
}

std::vector<std::string> JsonObject::unread() const {
  std::vector<std::string> keys;
  if (value->is_object())
    for (const auto &[key, ignored] : value->items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        keys.push_back(key);
  return keys;
}

/// " (did you mean 'heads'?)", or "".
static std::string hint(const std::string &key,
                        const std::vector<std::string> &known) {
  std::string name = nearest(key, known);
  return name.empty() ? "" : fmt::format(" (did you mean '{}'?)", name);
}

std::vector<std::string> JsonObject::unknown() const {
  std::vector<std::string> paths = unread();
  for (std::string &key : paths)
    key = fmt::format("'{}'{}", path.at(key).path, hint(key, known));
  return paths;
}

void JsonObject::done() const {
  std::vector<std::string> keys = unread(), all = known;
  addUnknown(path.problem, unknown());
  std::sort(all.begin(), all.end());
  if (!keys.empty())
    path.refuse(fmt::format("there is no key '{}'{}; there are {}",
                            shownName(keys.front()), hint(keys.front(), known),
                            fmt::join(all, ", ")));
}

void tpsp::addUnknown(std::string &problem,
                      const std::vector<std::string> &unknown) {
  static const std::string missing = ": is missing";
  bool isMissing = problem.size() > missing.size() &&
                   problem.compare(problem.size() - missing.size(),
                                   missing.size(), missing) == 0;
  if (isMissing && !unknown.empty())
    problem += fmt::format("; {} {} not known", fmt::join(unknown, ", "),
                           unknown.size() > 1 ? "are" : "is");
}

//===----------------------------------------------------------------------===//
// Values that are read
//===----------------------------------------------------------------------===//

/// "a number from 0 to 4", "a whole number from 1 to 7", "a number above 0".
static std::string rangeText(Rule rule, bool isWhole) {
  std::string number = isWhole ? "a whole number" : "a number";
  bool isOpen = rule.most >= Rule().most || (isWhole && rule.most >= 0x1p63);
  if (rule.least < -1e18)
    return isOpen ? number : fmt::format("{} up to {}", number, rule.most);
  if (rule.least > 0 && rule.least < 1)
    return fmt::format("{} above 0{}", number,
                       isOpen ? "" : fmt::format(" to {}", rule.most));
  auto bound = [](double value) { return fmt::format("{:.0f}", value); };
  return fmt::format("{} from {}{}", number, bound(rule.least),
                     isOpen ? " on" : " to " + bound(rule.most));
}

bool tpsp::isNumber(const OrderedJson &value, const JsonPath &path, Rule rule,
                    bool isWhole) {
  // As a double, the largest integer that fits is one that does not.
  bool isTooLarge = value.is_number_unsigned() && rule.most == 0x1p63 &&
                    value.get<uint64_t>() >> 63 != 0;
  bool isRight = (isWhole ? value.is_number_integer() : value.is_number()) &&
                 value.get<double>() >= rule.least &&
                 value.get<double>() <= rule.most && !isTooLarge;
  if (!isRight)
    path.expected(rangeText(rule, isWhole), value);
  return isRight;
}

void tpsp::readJson(const OrderedJson &value, const JsonPath &path, Rule,
                    std::string &out) {
  if (value.is_string())
    out = value.get<std::string>();
  else
    path.expected("a string", value);
}

void tpsp::readJson(const OrderedJson &value, const JsonPath &path, Rule,
                    bool &out) {
  if (value.is_boolean())
    out = value.get<bool>();
  else
    path.expected("true or false", value);
}
