#include "Metrics.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/JsonWriter.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cfloat>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sstream>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace tpsp::train {

template <typename Object>
static void fields(Object &field, StepRecord &record) {
  constexpr Rule any{1, -DBL_MAX, DBL_MAX, /*isRequired=*/false};
  field("step", record.step);
  field("loss", record.loss, Rule{1, -DBL_MAX, DBL_MAX});
  field("norm", record.norm, any);
  field("dropped", record.dropped, any);
  field("learning_rate", record.learningRate, any);
  field("loss_scale", record.lossScale, any);
  field("skipped", record.isSkipped, optional);
  field("tokens", record.tokens, optional);
  field("seconds", record.seconds, any);
  field("tokens_per_second", record.tokensPerSecond, any);
  field("utilisation", record.utilisation, any);
  field("eval_loss", record.evalLoss, any);
}

} // namespace tpsp::train

std::string tpsp::train::toJson(const StepRecord &record) {
  StepRecord copy = record; // fields() needs members that can be written
  return writtenFields(copy).dump();
}

static std::optional<StepRecord> recordOf(const std::string &line) {
  std::string problem;
  StepRecord record;
  OrderedJson json;
  if (!parseJson(line, json).ok())
    return std::nullopt;
  // Keys of other versions do not matter.
  JsonObject reader(json, {"", problem});
  fields(reader, record);
  return problem.empty() ? std::optional(record) : std::nullopt;
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
