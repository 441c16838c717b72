#include "JsonElements.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;
using Json = nlohmann::json;

namespace {

/// Builds each part as a value, and hands it over when it ends.
///
/// The top object has depth 1, its lists have depth 2, and their elements begin
/// at depth 2.
class PartBuilder final : public nlohmann::json_sax<Json> {
public:
  explicit PartBuilder(const JsonParts &parts) : parts(parts) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool binary(binary_t &) override { return true; }
  bool string(string_t &value) override { return add(std::move(value)); }

  bool start_object(std::size_t) override {
    if (depth++ == 0)
      return isObject = true;
    return open(Json::object());
  }
  bool start_array(std::size_t) override {
    // A file that begins with a list is no object.
    if (depth == 0)
      return false;
    if (++depth == 2) {
      isInList = true;
      return true;
    }
    return open(Json::array());
  }
  bool end_object() override { return close(); }
  bool end_array() override {
    if (depth == 2 && isInList) {
      isInList = false;
      --depth;
      return !isWanted || handOver(parts.value(topKey, nullptr));
    }
    return close();
  }
  bool key(string_t &value) override {
    if (depth > 1) {
      lastKey = std::move(value);
      return true;
    }
    topKey = std::move(value);
    isWanted = parts.keys.count(topKey) > 0;
    return true;
  }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    where = position;
    return false;
  }

  bool isObject = false;
  std::size_t where = 0;
  /// The failure of a receiver.
  Status failure;

private:
  /// Values from this depth on are left out.
  static constexpr int deepest = 18;

  bool handOver(Status status) {
    failure = std::move(status);
    return failure.ok();
  }

  /// A part has ended.
  bool finish(const Json &part) {
    if (!isWanted)
      return true;
    return handOver(isInList ? parts.element(topKey, part)
                             : parts.value(topKey, part));
  }

  /// Puts a value into the innermost open one; null if it is left out.
  Json *put(Json value) {
    if (depth >= deepest || !opened.back())
      return nullptr;
    Json &outer = *opened.back();
    if (outer.is_array()) {
      outer.push_back(std::move(value));
      return &outer.back();
    }
    return &(outer[lastKey] = std::move(value));
  }

  bool add(Json value) {
    if (depth == 0)
      return false;
    if (opened.empty())
      return finish(value);
    put(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (opened.empty()) {
      root = std::move(value);
      opened.push_back(isWanted ? &root : nullptr);
    } else {
      opened.push_back(put(std::move(value)));
    }
    return true;
  }

  bool close() {
    --depth;
    if (opened.empty())
      return true;
    opened.pop_back();
    return !opened.empty() || finish(root);
  }

  const JsonParts &parts;
  std::string topKey, lastKey;
  int depth = 0;
  bool isInList = false, isWanted = false;
  /// The part under way, and the values of it that are open, outermost first;
  /// null where they are left out. A value's address stays while it is the last
  /// of its list or an entry of an object.
  Json root;
  std::vector<Json *> opened;
};

} // namespace

Status tpsp::check::readJsonParts(const std::string &path,
                                  const JsonParts &parts) {
  // Refuses what is no regular file: a pipe may never end.
  rt::FileHandle handle;
  int64_t bytes = 0;
  TPSP_TRY(rt::openToRead(path, handle, bytes));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return rt::invalid("it cannot be opened: {}", std::strerror(errno));
  PartBuilder builder(parts);
  bool isRead = Json::sax_parse(file, &builder);
  if (!builder.failure.ok())
    return builder.failure;
  if (!isRead || !builder.isObject)
    return rt::invalid("it is no JSON object from byte {} on: it is cut short "
                       "or another file",
                       builder.where);
  return {};
}
