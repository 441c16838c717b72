/// A model's config.json, read key by key.
///
/// Every key that is read is used up. What is left in the end is unknown, and
/// an error: a key that nobody reads may change mathematics. The first failure
/// is kept; readers go on with a value that does no harm, and ask finish()
/// once.
#ifndef TPSP_IMPORT_CONFIG_H
#define TPSP_IMPORT_CONFIG_H

#include "tpsp/Abi/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tpsp::import {

/// Keys that every model may have and that change no mathematics: who made it,
/// how numbers are stored and begin, which tokens are special.
const std::vector<std::string> &commonKeys();

class Config {
public:
  /// `text` must be a JSON object without a key that comes twice.
  static rt::Status parse(const std::string &text, Config &out);

  /// Takes these keys away. INVALID if one is not there.
  rt::Status leaveOut(const std::vector<std::string> &keys);

  /// Whether the key is there and not null. Uses nothing up.
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
  /// The same as size from 0 on.
  int64_t count(const std::string &key, int64_t otherwise) {
    return whole(key, 0, largest, otherwise);
  }
  /// A finite number; required, or with a default.
  double number(const std::string &key);
  double number(const std::string &key, double otherwise);
  /// The same above 0; and from 0 on.
  double positive(const std::string &key);
  double positive(const std::string &key, double otherwise);
  double notNegative(const std::string &key, double otherwise);
  bool flag(const std::string &key, bool otherwise);
  std::string word(const std::string &key, const std::string &otherwise);
  std::vector<std::string> words(const std::string &key);
  std::vector<int64_t> counts(const std::string &key);

  /// An object of keys, whose failures are this one's, too; empty if absent.
  Config &object(const std::string &key);

  /// The words that a model's key may have; anything else is refused.
  std::string oneOf(const std::string &key, const std::string &otherwise,
                    const std::vector<std::string> &known);
  /// Refuses a key that has another value than this, which changes nothing.
  /// `lacking` says what is missing: "a dropout of scores".
  void only(const std::string &key, const nlohmann::json &harmless,
            const std::string &lacking);
  /// These keys change no mathematics.
  void harmless(const std::vector<std::string> &keys);

  /// Records a failure of this key.
  void refuse(const std::string &key, const std::string &why);

  /// The first failure.
  rt::Status check() const;
  /// The same, or all keys that nobody has read.
  rt::Status finish();

private:
  /// No extent of a model is larger, and products of three fit 64 bits.
  static constexpr int64_t largest = int64_t(1) << 31;
  /// A program has an operation for each.
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
