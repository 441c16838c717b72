#include "Config.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

/// A configuration has lists in objects in objects, and nothing deeper.
static constexpr size_t deepest = 8;

Config::Config(const OrderedJson *value, JsonPath path)
    : reader(value ? *value : json, std::move(path)) {}

Status Config::parse(const std::string &source, Config &out) {
  TPSP_TRY(parseJson(source, out.json, deepest));
  if (!out.json.is_object())
    return invalid("expected an object, not {}", shownJson(out.json));
  return {};
}

Status Config::leaveOut(const std::vector<std::string> &keys) {
  for (const std::string &key : keys)
    if (json.erase(key) == 0)
      return invalid("--ignore-key {}: there is no such key", shownJson(key));
  return {};
}

DropRate Config::dropRate(const std::string &key, double otherwise) {
  double rate = number(key, otherwise);
  if (rate >= 0 && rate < 1)
    return {key, rate};
  refuse(key, fmt::format("is {}; a rate of dropout is at least 0 and below 1",
                          rate));
  return {key, 0};
}

Config &Config::object(const std::string &key) {
  return objects.try_emplace(key, reader.find(key), reader.at(key))
      .first->second;
}

std::string Config::oneOf(const std::string &key, const std::string &otherwise,
                          const std::vector<std::string> &known) {
  std::string found = word(key, otherwise);
  if (std::find(known.begin(), known.end(), found) == known.end())
    refuse(key, fmt::format("expected one of {}, not {}",
                            fmt::join(known, ", "), shownJson(found)));
  return found;
}

void Config::only(const std::string &key, const OrderedJson &harmless,
                  const std::string &lacking) {
  const OrderedJson *value = reader.find(key);
  if (value && *value != harmless)
    refuse(key, fmt::format("is {}, and {} is not there yet; only {} is "
                            "imported",
                            shownJson(*value), lacking, shownJson(harmless)));
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
  for (const std::string &key : keys)
    reader.find(key);
}

void Config::unread(std::vector<std::string> &out) const {
  for (std::string &key : reader.unknown())
    out.push_back(std::move(key));
  for (const auto &entry : objects)
    entry.second.unread(out);
}

Status Config::check() const {
  return failure.empty() ? Status() : Status(TPSP_RT_INVALID, failure);
}

Status Config::finish() {
  std::vector<std::string> unknown;
  unread(unknown);
  addUnknown(failure, unknown);
  TPSP_TRY(check());
  if (unknown.empty())
    return {};
  return invalid("{} {} not known, and may change mathematics; "
                 "--ignore-key KEY leaves one out of account",
                 fmt::join(unknown, ", "), unknown.size() > 1 ? "are" : "is");
}
