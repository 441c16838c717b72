#include "Config.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/JsonFault.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;
using Json = nlohmann::json;

/// The most characters of a value that a message shows.
static constexpr size_t shown = 60;

static std::string text(const Json &value) {
  std::string dump = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return dump.size() > shown ? dump.substr(0, shown) + "..." : dump;
}

Status Config::parse(const std::string &source, Config &out) {
  out = {};
  std::set<std::string> keys;
  std::optional<std::string> twice;
  auto note = [&](int depth, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !keys.insert(value.get<std::string>()).second && !twice)
      twice = value.get<std::string>();
    // A configuration has lists in objects in objects, and nothing deeper, so
    // deep nesting stops the parser.
    return depth <= 8;
  };
  if (std::string fault = jsonFault(source); !fault.empty())
    return invalid("it is not JSON: {}", fault);
  out.json = Json::parse(source, note, /*allow_exceptions=*/false);
  if (!out.json.is_object())
    return invalid("it is {}, and no JSON object", text(out.json));
  if (twice)
    return invalid("key {} is there twice", text(*twice));
  return {};
}

Status Config::leaveOut(const std::vector<std::string> &keys) {
  for (const std::string &key : keys)
    if (json.erase(key) == 0)
      return invalid("--ignore-key {}: there is no such key", text(key));
  return {};
}

std::string Config::describe(const std::string &key) const {
  return fmt::format("key '{}{}'", prefix, key);
}

void Config::refuse(const std::string &key, const std::string &why) {
  if (!failure)
    failure = describe(key) + " " + why;
}

bool Config::has(const std::string &key) const {
  auto it = json.find(key);
  return it != json.end() && !it->is_null();
}

/// The value of a key; null if it is absent.
const Json *Config::use(const std::string &key) {
  used.insert(key);
  return has(key) ? &json[key] : nullptr;
}

const Json *Config::require(const std::string &key) {
  const Json *value = use(key);
  if (!value)
    refuse(key, "is missing");
  return value;
}

int64_t Config::wholeNumber(const std::string &key, const Json &value,
                            int64_t least, int64_t most) {
  if (value.is_number_integer() && value >= least && value <= most)
    return value.get<int64_t>();
  refuse(key, fmt::format("is {}, which is no whole number from {} to {}",
                          text(value), least, most));
  return 1;
}

int64_t Config::whole(const std::string &key, int64_t least, int64_t most,
                      std::optional<int64_t> otherwise) {
  const Json *value = otherwise ? use(key) : require(key);
  return value ? wholeNumber(key, *value, least, most) : otherwise.value_or(1);
}

double Config::number(const std::string &key) {
  return require(key) ? number(key, 1) : 1;
}

double Config::number(const std::string &key, double otherwise) {
  const Json *value = use(key);
  if (!value)
    return otherwise;
  if (value->is_number() && std::isfinite(value->get<double>()))
    return value->get<double>();
  refuse(key, fmt::format("is {}, which is no number", text(*value)));
  return otherwise;
}

double Config::positive(const std::string &key) {
  return require(key) ? positive(key, 1) : 1;
}

double Config::positive(const std::string &key, double otherwise) {
  double value = number(key, otherwise);
  if (has(key) && !(value > 0))
    refuse(key, fmt::format("is {}; it is above 0", value));
  return value;
}

double Config::notNegative(const std::string &key, double otherwise) {
  double value = number(key, otherwise);
  if (!(value >= 0))
    refuse(key, fmt::format("is {}; it is 0 or above", value));
  return value;
}

DropRate Config::dropRate(const std::string &key, double otherwise) {
  double rate = number(key, otherwise);
  if (rate >= 0 && rate < 1)
    return {key, rate};
  refuse(key, fmt::format("is {}; a rate of dropout is at least 0 and below 1",
                          rate));
  return {key, 0};
}

bool Config::flag(const std::string &key, bool otherwise) {
  const Json *value = use(key);
  if (!value || value->is_boolean())
    return value ? value->get<bool>() : otherwise;
  refuse(key, fmt::format("is {}, not true or false", text(*value)));
  return otherwise;
}

std::string Config::word(const std::string &key, const std::string &otherwise) {
  const Json *value = use(key);
  if (!value || value->is_string())
    return value ? value->get<std::string>() : otherwise;
  refuse(key, fmt::format("is {}, which is no string", text(*value)));
  return otherwise;
}

std::vector<Json> Config::list(const std::string &key) {
  const Json *value = use(key);
  if (value && value->is_array())
    return value->get<std::vector<Json>>();
  if (value)
    refuse(key, fmt::format("is {}, which is no list", text(*value)));
  return {};
}

std::vector<std::string> Config::words(const std::string &key) {
  std::vector<std::string> out;
  for (const Json &entry : list(key))
    if (entry.is_string())
      out.push_back(entry.get<std::string>());
    else
      refuse(key, fmt::format("has {}, which is no string", text(entry)));
  return out;
}

std::vector<int64_t> Config::counts(const std::string &key) {
  std::vector<int64_t> out;
  for (const Json &entry : list(key))
    out.push_back(wholeNumber(key, entry, 0, largest));
  return out;
}

Config &Config::object(const std::string &key) {
  const Json *value = use(key);
  Config &child = objects[key];
  child.prefix = prefix + key + ".";
  if (!value)
    return child;
  if (value->is_object())
    child.json = *value;
  else
    refuse(key, fmt::format("is {}, which is no object", text(*value)));
  return child;
}

std::string Config::oneOf(const std::string &key, const std::string &otherwise,
                          const std::vector<std::string> &known) {
  std::string found = word(key, otherwise);
  if (std::find(known.begin(), known.end(), found) == known.end())
    refuse(key, fmt::format("is {}, which is none of {}", text(found),
                            fmt::join(known, ", ")));
  return found;
}

void Config::only(const std::string &key, const Json &harmless,
                  const std::string &lacking) {
  const Json *value = use(key);
  if (value && *value != harmless)
    refuse(key, fmt::format("is {}, and {} is not there yet; only {} is "
                            "imported",
                            text(*value), lacking, text(harmless)));
}

const std::vector<std::string> &tpsp::import::commonKeys() {
  static const std::vector<std::string> keys = {"model_type",
                                                "architectures",
                                                "transformers_version",
                                                "torch_dtype",
                                                "dtype",
                                                "use_cache",
                                                "bos_token_id",
                                                "eos_token_id",
                                                "pad_token_id",
                                                "_name_or_path",
                                                "initializer_range",
                                                "output_attentions",
                                                "output_hidden_states",
                                                "return_dict",
                                                "gradient_checkpointing",
                                                "transformers.js_config",
                                                "unsloth_fixed",
                                                "unsloth_version"};
  return keys;
}

void Config::harmless(const std::vector<std::string> &keys) {
  used.insert(keys.begin(), keys.end());
}

void Config::unread(std::vector<std::string> &out) const {
  for (const auto &[key, value] : json.items())
    if (used.count(key) == 0)
      out.push_back(fmt::format("'{}{}'", prefix, key));
  for (const auto &entry : objects)
    entry.second.unread(out);
}

std::optional<std::string> Config::firstFailure() const {
  if (failure)
    return failure;
  for (const auto &entry : objects)
    if (std::optional<std::string> one = entry.second.firstFailure())
      return one;
  return std::nullopt;
}

Status Config::check() const {
  if (std::optional<std::string> found = firstFailure())
    return {TPSP_RT_INVALID, *found};
  return {};
}

Status Config::finish() {
  std::vector<std::string> unknown;
  unread(unknown);
  std::string names = fmt::format("{}", fmt::join(unknown, ", "));
  if (std::optional<std::string> found = firstFailure()) {
    // If a key is missing, an unknown key is often its misspelling.
    bool isMissing = found->find("is missing") != std::string::npos;
    return {TPSP_RT_INVALID,
            isMissing && !unknown.empty()
                ? fmt::format("{}; {} {} not known", *found, names,
                              unknown.size() > 1 ? "are" : "is")
                : *found};
  }
  if (unknown.empty())
    return {};
  return invalid("{} {} not known, and may change mathematics; "
                 "--ignore-key KEY leaves one out of account",
                 names, unknown.size() > 1 ? "are" : "is");
}
