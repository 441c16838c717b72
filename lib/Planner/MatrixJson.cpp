#include "AxesJson.h"
#include "tpsp/Planner/Matrix.h"

using namespace tpsp;
using namespace tpsp::planner;
using Json = nlohmann::ordered_json;

static Json memoryJson(const MemoryBill &bill) {
  return {{"parameters", bill.parameters},
          {"gradients", bill.gradients},
          {"state", bill.state},
          {"inputs", bill.inputs},
          {"outputs", bill.outputs},
          {"activations", bill.activations},
          {"saved", bill.savedAtPeak()},
          {"total", bill.total},
          {"profiled", bill.profiled},
          {"profiled_reserved", bill.profiledReserved}};
}

static Json rowJson(const MatrixRow &row) {
  const Evaluation &e = *row.evaluation;
  Json json = {{"rank", row.rank},
               {"name", row.name},
               {"label", row.label},
               {"subscripts", row.subscripts},
               {"mesh", axesJson(e.candidate)},
               {"micro_batches", e.candidate.settings.microBatches},
               {"rematerialize", e.candidate.settings.rematerialize},
               {"schedule", e.candidate.settings.schedule},
               {"stage_chunks", e.candidate.settings.chunks},
               {"legal", e.isLegal()},
               {"reason", row.reason}};
  if (!e.isLegal())
    return json;
  json["bound"] = e.isBound;
  json["seconds"] = e.seconds;
  json["parts"] = e.parts;
  if (e.isBound) {
    json["memory"] = {{"total", e.memory.total}};
    return json;
  }
  json["tokens_per_second"] = row.tokensPerSecond;
  json["model_utilisation"] = row.modelUtilisation;
  json["exposed_seconds"] = e.exposed;
  json["communication_seconds"] = e.communication;
  json["bubble"] = e.bubble;
  json["memory"] = memoryJson(e.memory);
  json["composed"] = e.isComposed;
  json["error"] = e.error.time();
  json["tied"] = row.isTied;
  json["serial"] = e.isSerial;
  return json;
}

static Json settingsJson(const std::vector<Settings> &settings) {
  return {{"micro_batches", microBatchesOf(settings)},
          {"rematerialize", rematerialisationsOf(settings)}};
}

static Json spaceJson(const SearchedSpace &space) {
  Json json = settingsJson(space.settings);
  json["max_axes"] = space.maxAxes;
  json["pins"] = space.pins;
  json["target"] = space.target;
  json["stages"] = nullptr;
  if (!space.stageSettings.empty()) {
    json["stages"] = settingsJson(space.stageSettings);
    json["stages"]["schedules"] = schedulesOf(space.stageSettings);
    json["stages"]["chunks"] = chunksOf(space.stageSettings);
  }
  json["plans"] = plansText(space);
  json["text"] = spaceText(space);
  return json;
}

static Json othersJson(const Matrix &matrix) {
  Json others = Json::array();
  for (const auto &[name, plan] : matrix.others)
    others.push_back({{"name", name},
                      {"seconds", plan->seconds},
                      {"memory", plan->memory.total}});
  return others;
}

static Json openJson(const Matrix &matrix) {
  Json rows = Json::array();
  for (auto [each, name] :
       llvm::zip_equal(matrix.result->open, matrix.openNames))
    rows.push_back({{"name", name},
                    {"devices_left", each.devicesLeft},
                    {"seconds", each.bound.seconds},
                    {"computing", each.bound.computing},
                    {"data", each.bound.data},
                    {"model", each.bound.model},
                    {"serial_seconds", each.serialSeconds}});
  return rows;
}

static Json runsJson(llvm::ArrayRef<ComparedRun> runs) {
  auto figure = [](double measured, double predicted,
                   const Calibrated &calibrated) -> Json {
    return {{"measured", measured > 0 ? Json(measured) : Json(nullptr)},
            {"predicted", predicted},
            {"calibrated", calibrated.value},
            {"margin", calibrated.margin}};
  };
  Json rows = Json::array();
  for (const ComparedRun &run : runs)
    rows.push_back({{"name", run.name},
                    {"seconds", figure(run.measuredSeconds,
                                       run.predictedSeconds, run.seconds)},
                    {"bytes", figure(double(run.measuredBytes),
                                     double(run.predictedBytes), run.bytes)}});
  return rows;
}

std::string tpsp::planner::toJson(const Matrix &matrix) {
  const MatrixOptions &o = matrix.options;
  const SearchResult &result = *matrix.result;
  Json json = {{"format", "tpsp-plan-1"},       {"program", o.program},
               {"hardware", o.hardware},        {"devices", o.devices},
               {"memory_limit", o.memoryLimit}, {"tokens", o.tokens},
               {"profile", o.profile},          {"kept_scores", o.keptScores}};
  json["search"] = {
      {"seconds", result.state.seconds},
      {"certified_seconds", result.certifiedSeconds},
      {"finalists", result.finalists},
      {"evaluations", result.state.evaluations},
      {"gap", o.calibration.empty() ? Json(result.state.gap) : Json(nullptr)},
      {"calibration", o.calibration},
      {"runs", runsJson(o.runs)},
      {"num_open", result.numOpen},
      {"open", openJson(matrix)},
      {"error", matrix.tieError},
      {"ties", matrix.ties},
      {"space", spaceJson(o.space)},
      {"too_slow", result.tooSlow},
      {"too_large", result.tooLarge},
      {"uncut", result.uncut},
      {"symmetric", result.symmetric},
      {"illegal", result.illegal},
      {"time_error", result.seen.time()},
      {"memory_error", result.seen.memory()}};
  json["plans"] = Json::array();
  for (const MatrixRow &row : matrix.rows)
    json["plans"].push_back(rowJson(row));
  json["others"] = othersJson(matrix);
  return json.dump(2) + "\n";
}
