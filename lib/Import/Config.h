/// A model's config.json, read key by key.
///
/// Reading a key marks it as used. A key that is unused at the end is an error,
/// because it may change mathematics. The first failure is kept: readers
/// continue with a harmless value, and call finish() once.
#ifndef TPSP_IMPORT_CONFIG_H
#define TPSP_IMPORT_CONFIG_H

#include "Model.h"
#include "tpsp/Abi/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tpsp::import {

/// Keys that every model may have and that change no mathematics: its author,
/// how numbers are stored and initialised, the special tokens.
const std::vector<std::string> &commonKeys();

class Config {
public:
  /// `text` must be a JSON object without duplicate keys.
  static rt::Status parse(const std::string &text, Config &out);

  /// Removes these keys. INVALID if one is absent.
  rt::Status leaveOut(const std::vector<std::string> &keys);

  /// Whether the key is present and not null. Does not mark it as used.
  bool has(const std::string &key) const;

  /// A whole number from 1 to 2^31; required, or with a default.
  int64_t size(const std::string &key,
               std::optional<int64_t> otherwise = std::nullopt) {
    return whole(key, 1, largest, otherwise);
  }
  /// A number of layers: required, and at most 10000.
  int64_t layers(const std::string &key) {
    return whole(key, 1, mostLayers, std::nullopt);
  }
  /// A whole number from 0 to 2^31, with a default.
  int64_t count(const std::string &key, int64_t otherwise) {
    return whole(key, 0, largest, otherwise);
  }
  /// A finite number; required, or with a default.
  double number(const std::string &key);
  double number(const std::string &key, double otherwise);
  /// A finite number above 0 (positive), or from 0 on (notNegative).
  double positive(const std::string &key);
  double positive(const std::string &key, double otherwise);
  double notNegative(const std::string &key, double otherwise);
  /// A rate of dropout: from 0 on, and below 1.
  DropRate dropRate(const std::string &key, double otherwise);
  bool flag(const std::string &key, bool otherwise);
  std::string word(const std::string &key, const std::string &otherwise);
  std::vector<std::string> words(const std::string &key);
  std::vector<int64_t> counts(const std::string &key);

  /// An object of keys; empty if absent. Its failures are failures of this
  /// object, too.
  Config &object(const std::string &key);

  /// A word among `known`; any other value is refused.
  std::string oneOf(const std::string &key, const std::string &otherwise,
                    const std::vector<std::string> &known);
  /// Refuses a key whose value is not `harmless`. `lacking` names the missing
  /// feature: "a dropout of scores".
  void only(const std::string &key, const nlohmann::json &harmless,
            const std::string &lacking);
  /// Marks keys that change no mathematics as used.
  void harmless(const std::vector<std::string> &keys);

  /// Records a failure of this key.
  void refuse(const std::string &key, const std::string &why);

  /// The first failure.
  rt::Status check() const;
  /// The first failure, or an error with all unused keys.
  rt::Status finish();

private:
  /// The largest extent of a model.
  static constexpr int64_t largest = int64_t(1) << 31;
  /// The most layers: a program has an operation for each.
  static constexpr int64_t mostLayers = 10'000;

  const nlohmann::json *use(const std::string &key);
  const nlohmann::json *require(const std::string &key);
  /// The entries of a list; none if the key is absent.
  std::vector<nlohmann::json> list(const std::string &key);
  int64_t whole(const std::string &key, int64_t least, int64_t most,
                std::optional<int64_t> otherwise);
  int64_t wholeNumber(const std::string &key, const nlohmann::json &value,
                      int64_t least, int64_t most);
  std::string describe(const std::string &key) const;
  void unread(std::vector<std::string> &out) const;
  std::optional<std::string> firstFailure() const;

  nlohmann::json json = nlohmann::json::object();
  /// "rope_scaling." of an object in an object.
  std::string prefix;
  std::set<std::string> used;
  std::map<std::string, Config> objects;
  std::optional<std::string> failure;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_CONFIG_H
