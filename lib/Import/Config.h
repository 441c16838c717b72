/// A model's config.json, read key by key.
///
/// Reading a key marks it as used. A key that is unused at the end is an error,
/// because it may change mathematics. The first failure is kept: readers
/// continue with a harmless value, and call finish() once.
#ifndef TPSP_IMPORT_CONFIG_H
#define TPSP_IMPORT_CONFIG_H

#include "Model.h"
#include "tpsp/Abi/JsonReader.h"

#include <cfloat>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::import {

/// Keys that every model may have and that change no mathematics: its author,
/// how numbers are stored and initialised, the special tokens.
const std::vector<std::string> &commonKeys();

class Config {
public:
  Config() = default;
  /// An object in `outer`, whose failures are failures of `outer`, too. A null
  /// `value` is an object without keys.
  Config(const OrderedJson *value, JsonPath path);
  Config(const Config &) = delete;

  /// `text` must be a JSON object without duplicate keys.
  static rt::Status parse(const std::string &text, Config &out);

  /// Removes these keys. INVALID if one is absent.
  rt::Status leaveOut(const std::vector<std::string> &keys);

  /// Whether the key is present and not null. Does not mark it as used.
  bool has(const std::string &key) const { return reader.has(key); }

  /// A whole number from 1 to 2^31; required, or with a default.
  int64_t size(const std::string &key,
               std::optional<int64_t> otherwise = std::nullopt) {
    return take(key, {1, 1, largest}, otherwise);
  }
  /// A number of layers: required, and at most 10000.
  int64_t layers(const std::string &key) {
    return take<int64_t>(key, {1, 1, mostLayers});
  }
  /// A whole number from 0 to 2^31, with a default.
  int64_t count(const std::string &key, int64_t otherwise) {
    return take<int64_t>(key, {1, 0, largest}, otherwise);
  }
  /// A number; required, or with a default.
  double number(const std::string &key,
                std::optional<double> otherwise = std::nullopt) {
    return take(key, {1, -DBL_MAX, DBL_MAX}, otherwise);
  }
  /// A number above 0 (positive), or from 0 on (notNegative).
  double positive(const std::string &key,
                  std::optional<double> otherwise = std::nullopt) {
    return take(key, {1, DBL_MIN, DBL_MAX}, otherwise);
  }
  double notNegative(const std::string &key, double otherwise) {
    return take<double>(key, {1, 0, DBL_MAX}, otherwise);
  }
  /// A rate of dropout: from 0 on, and below 1.
  DropRate dropRate(const std::string &key, double otherwise);
  bool flag(const std::string &key, bool otherwise) {
    return take<bool>(key, {}, otherwise);
  }
  std::string word(const std::string &key, const std::string &otherwise) {
    return take<std::string>(key, {}, otherwise);
  }
  std::vector<std::string> words(const std::string &key) {
    return take<std::vector<std::string>>(key, {}, {{}});
  }
  std::vector<int64_t> counts(const std::string &key) {
    return take<std::vector<int64_t>>(key, {1, 0, largest}, {{}});
  }

  /// An object of keys; empty if absent. Its failures are failures of this
  /// object, too.
  Config &object(const std::string &key);

  /// A word among `known`; any other value is refused.
  std::string oneOf(const std::string &key, const std::string &otherwise,
                    const std::vector<std::string> &known);
  /// Refuses a key whose value is not `harmless`. `lacking` names the missing
  /// feature: "a dropout of scores".
  void only(const std::string &key, const OrderedJson &harmless,
            const std::string &lacking);
  /// Marks keys that change no mathematics as used.
  void harmless(const std::vector<std::string> &keys);

  /// Records a failure of this key.
  void refuse(const std::string &key, const std::string &why) {
    reader.at(key).refuse(why);
  }

  /// The first failure.
  rt::Status check() const;
  /// The first failure, or an error with all unused keys.
  rt::Status finish();

private:
  /// The largest extent of a model.
  static constexpr double largest = double(int64_t(1) << 31);
  /// The most layers: a program has an operation for each.
  static constexpr double mostLayers = 10'000;

  /// The value of a key; without `otherwise` it is required. After a failure
  /// the default, or 1.
  template <typename T>
  T take(const std::string &key, Rule rule,
         std::optional<T> otherwise = std::nullopt) {
    rule.isRequired = !otherwise;
    T value = otherwise.value_or(T());
    if constexpr (std::is_arithmetic_v<T>)
      value = otherwise.value_or(T(1));
    reader(key, value, rule);
    return value;
  }
  void unread(std::vector<std::string> &out) const;

  OrderedJson json = OrderedJson::object();
  std::string failure;
  JsonObject reader{json, {"", failure}};
  std::map<std::string, Config> objects;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_CONFIG_H
