#include "Metrics.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sstream>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;
using Json = nlohmann::ordered_json;

std::string tpsp::train::toJson(const StepRecord &record) {
  Json json;
  json["step"] = record.step;
  json["loss"] = record.loss;
  if (record.norm)
    json["norm"] = *record.norm;
  if (record.dropped)
    json["dropped"] = *record.dropped;
  json["learning_rate"] = record.learningRate;
  if (record.lossScale)
    json["loss_scale"] = *record.lossScale;
  if (record.isSkipped)
    json["skipped"] = true;
  json["tokens"] = record.tokens;
  json["seconds"] = record.seconds;
  json["tokens_per_second"] = record.tokensPerSecond;
  if (record.utilisation)
    json["utilisation"] = *record.utilisation;
  if (record.evalLoss)
    json["eval_loss"] = *record.evalLoss;
  return json.dump();
}

template <typename T>
static std::optional<T> optionalOf(const Json &json, const char *key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_number())
    return std::nullopt;
  return found->get<T>();
}

static std::optional<StepRecord> recordOf(const std::string &line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !optionalOf<int64_t>(json, "step") ||
      !optionalOf<double>(json, "loss"))
    return std::nullopt;
  StepRecord record;
  record.step = *optionalOf<int64_t>(json, "step");
  record.loss = *optionalOf<double>(json, "loss");
  record.norm = optionalOf<double>(json, "norm");
  record.dropped = optionalOf<double>(json, "dropped");
  record.learningRate = optionalOf<double>(json, "learning_rate").value_or(0);
  record.lossScale = optionalOf<double>(json, "loss_scale");
  record.isSkipped = json.value("skipped", false);
  record.tokens = optionalOf<int64_t>(json, "tokens").value_or(0);
  record.seconds = optionalOf<double>(json, "seconds").value_or(0);
  record.tokensPerSecond =
      optionalOf<double>(json, "tokens_per_second").value_or(0);
  record.utilisation = optionalOf<double>(json, "utilisation");
  record.evalLoss = optionalOf<double>(json, "eval_loss");
  return record;
}

std::vector<StepRecord> tpsp::train::readMetrics(const std::string &path,
                                                 int64_t last) {
  std::vector<StepRecord> records;
  std::string text;
  if (!readWhole(path, std::numeric_limits<int64_t>::max(), text).ok())
    return records;
  std::istringstream file(std::move(text));
  for (std::string line; std::getline(file, line);)
    if (std::optional<StepRecord> record = recordOf(line);
        record && record->step <= last) {
      // A run that resumed from an earlier step has computed the later steps
      // again.
      while (!records.empty() && records.back().step >= record->step)
        records.pop_back();
      records.push_back(*record);
    }
  return records;
}

Status tpsp::train::writeMetrics(const std::string &path,
                                 const std::vector<StepRecord> &records) {
  std::string text;
  for (const StepRecord &record : records)
    text += toJson(record) + "\n";
  return writeText(path, text);
}

Status tpsp::train::appendMetrics(const std::string &path,
                                  const StepRecord &record) {
  std::string line = toJson(record) + "\n";
  FileHandle file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file.isOpen() &&
      ::write(file.get(), line.data(), line.size()) == ssize_t(line.size()))
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
}
