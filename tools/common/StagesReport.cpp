// The report of a program with stages, as text and JSON.
#include "StagesReport.h"

#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Abi/TextTable.h"
#include "tpsp/Schedule/Hardware.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tpsp;
using namespace tpsp::tool;
using Json = nlohmann::ordered_json;

static void addUse(const Hardware &hardware, StagesReport &report) {
  int64_t ranks = 1, most = 0, all = 0;
  for (const MeshAxis &axis : report.plans.mesh)
    ranks *= axis.size;
  for (const StageUse &stage : report.step.stages) {
    most = std::max(most, stage.peak);
    all += stage.peak * (ranks / int64_t(report.step.stages.size()));
  }
  report.memoryBytes = hardware.memoryBytes;
  report.neededBytes = hardware.isCpu() ? all : most;
  const StagePlan &first = report.plans.chunks.front();
  int64_t dtype = TPSP_RT_F32;
  for (const PlanCommand &command : first.plan->commands)
    if (command.kind == CommandKind::Matmul)
      dtype = command.dtype;
  double peak = matmulPeak(hardware, dtype, ranks);
  if (peak > 0 && report.step.seconds > 0)
    report.matmulUtilisation = report.step.flops /
                               double(report.step.stages.size()) / peak /
                               report.step.seconds;
}

StagesReport tpsp::tool::stagesReport(SimulatedStages &&stages,
                                      const Hardware &hardware,
                                      const StagesContext &context) {
  StagesReport report;
  report.plans = std::move(stages.plans);
  report.step = std::move(stages.simulation.step);
  report.overlap = std::move(stages.overlap);
  report.hardware = hardware.name;
  report.program = context.program;
  report.schedule = context.schedule;
  report.askedOverlap = context.overlap;
  report.compileSeconds = context.compileSeconds;
  addUse(hardware, report);
  return report;
}

/// Returns a stage's layers: "8", or "2+2" if it has two chunks.
static std::string layersOf(const StagesReport &report, size_t stage) {
  std::string text;
  for (int64_t chunk : report.step.problem.chunksOf(int64_t(stage)))
    text += fmt::format("{}{}", text.empty() ? "" : "+",
                        report.plans.chunks[chunk].layers);
  return text;
}

std::vector<int64_t> tpsp::tool::ranksOf(const StagesReport &report,
                                         size_t stage) {
  rt::RankMesh mesh;
  std::vector<int64_t> ranks;
  if (!rt::RankMesh::create(report.plans.mesh, mesh).ok())
    return {0};
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.coordinates(rank)[report.plans.stageAxis] == int64_t(stage))
      ranks.push_back(rank);
  return ranks;
}

static std::string parameterName(const StagesReport &report,
                                 const TiedParameter &tied) {
  const std::string &name = report.plans.argumentNames[tied.argument];
  return name.empty() ? fmt::format("argument #{}", tied.argument) : name;
}

static std::string stagesOf(const TiedParameter &tied) {
  std::string text;
  for (size_t i = 0; i < tied.stages.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                        ? ""
                        : i + 1 == tied.stages.size() ? " and "
                                                      : ", ",
                        tied.stages[i]);
  return text;
}

static std::string bytes(int64_t number) {
  return rt::bytesText(double(number));
}

static std::string timeTable(const StagesReport &report) {
  TextTable table("rrrrrrr");
  table.add(
      {"stage", "rank", "layers", "computing", "sends", "update", "bubble"});
  for (size_t i = 0; i < report.step.stages.size(); ++i) {
    const StageUse &use = report.step.stages[i];
    table.add(
        {std::to_string(i), fmt::format("{}", ranksOf(report, i).front()),
         fmt::format("{}", layersOf(report, i)), rt::secondsText(use.computing),
         rt::secondsText(use.waitingForSends), rt::secondsText(use.update),
         fmt::format("{:.1f} %", 100 * use.bubble)});
  }
  return "\nTime per stage\n" + table.text();
}

static std::string memoryTable(const StagesReport &report) {
  TextTable table("rrrrrrrr");
  table.add({"stage", "parameters", "gradients", "optimizer", "inputs", "units",
             "saved", "peak"});
  for (size_t i = 0; i < report.step.stages.size(); ++i) {
    const StageUse &use = report.step.stages[i];
    table.add({std::to_string(i), bytes(use.parameters), bytes(use.gradients),
               bytes(use.state), bytes(use.inputs), std::to_string(use.units),
               bytes(use.saved), bytes(use.peak)});
  }
  return "\nMemory per rank\n" + table.text();
}

/// Returns rows about sends between neighbouring chunks; equal consecutive
/// sends share a row. `what` describes the send between chunks i and i + 1.
/// Without a row if it is empty: both chunks are on one stage.
static std::string sendRows(size_t numSends, bool isBack,
                            llvm::function_ref<std::string(size_t)> what) {
  std::string text;
  for (size_t first = 0, last = 0; first < numSends; first = last) {
    while (last < numSends && what(last) == what(first))
      ++last;
    if (what(first).empty())
      continue;
    size_t from = first, to = last;
    if (isBack)
      std::swap(from, to);
    text += fmt::format("  chunk {} to {}{}: {}\n", from, to,
                        last == first + 1 ? ""
                        : isBack          ? ", each to the one before"
                                          : ", each to the next",
                        what(first));
  }
  return text;
}

static std::string sendTable(const StagesReport &report) {
  std::string text = "\nSends of a micro-batch (bytes per rank)\n";
  const PipelineProblem &problem = report.step.problem;
  size_t numSends = report.plans.chunks.size() - 1;
  text += sendRows(numSends, /*isBack=*/false, [&](size_t i) {
    return problem.sendsForward(int64_t(i))
               ? fmt::format("{} in {}", bytes(report.step.sentForward[i]),
                             rt::secondsText(problem.chunks[i].sendForward))
               : std::string();
  });
  if (problem.hasBackward)
    text += sendRows(numSends, /*isBack=*/true, [&](size_t i) {
      return problem.sendsBackward(int64_t(i) + 1)
                 ? fmt::format(
                       "{} in {}", bytes(report.step.sentBackward[i + 1]),
                       rt::secondsText(problem.chunks[i + 1].sendBackward))
                 : std::string();
    });
  for (const TiedParameter &tied : report.step.tied)
    text += fmt::format("  once a step: the gradient of {}, {}, added over "
                        "stages {}: {} sent in {}\n",
                        parameterName(report, tied), bytes(tied.bytes),
                        stagesOf(tied), bytes(tied.bytesSent),
                        rt::secondsText(tied.seconds));
  return text;
}

/// "forward", "send", "update".
static std::string kindOf(const PlanCommand &command) { return command.call; }

static std::string pathText(const StagesReport &report) {
  StepTrace trace = traceOf(report);
  return "\n" +
         rt::criticalPathText(*trace.plan, rt::criticalPath(trace), kindOf) +
         "\n";
}

std::string tpsp::tool::toText(const StagesReport &report) {
  const PipelineProblem &problem = report.step.problem;
  std::string text = fmt::format(
      "{} on {}: {} stages over @{}, {} chunk{} each{}, {} micro-batches, "
      "{}\n",
      report.plans.program, report.hardware, problem.stages,
      report.plans.mesh[report.plans.stageAxis].name, problem.chunksPerStage,
      problem.chunksPerStage == 1 ? "" : "s",
      problem.isFolded ? " (folded)" : "", problem.parts, report.schedule);
  text += timeTable(report) + memoryTable(report) + sendTable(report);
  TextTable table("lrl");
  table.add({"compile", rt::secondsText(report.compileSeconds),
             fmt::format("({} of {} chunks)", report.plans.compiled,
                         report.plans.chunks.size())});
  std::string peak = report.matmulUtilisation > 0
                         ? fmt::format(", {:.1f} % of the matmul peak",
                                       100 * report.matmulUtilisation)
                         : "";
  table.add({"step", rt::secondsText(report.step.seconds),
             fmt::format("(simulated; bubble {:.1f} %{})",
                         100 * report.step.bubble, peak)});
  if (report.overlap != report.askedOverlap)
    table.add({"overlap", "none",
               fmt::format("(the step is slower with --overlap {})",
                           report.askedOverlap)});
  table.add({"memory", bytes(report.neededBytes),
             fmt::format("of {}{}", bytes(report.memoryBytes),
                         report.neededBytes > report.memoryBytes
                             ? ": too much for this machine"
                             : "")});
  return text + "\nTime\n" + table.text() + pathText(report);
}

static Json stageJson(const StagesReport &report, size_t stage) {
  const StageUse &use = report.step.stages[stage];
  Json layers = Json::array();
  for (int64_t chunk : report.step.problem.chunksOf(int64_t(stage)))
    layers.push_back(report.plans.chunks[chunk].layers);
  return {{"stage", stage},
          {"rank", ranksOf(report, stage).front()},
          {"layers", layers},
          {"computing", use.computing},
          {"waiting_for_sends", use.waitingForSends},
          {"update", use.update},
          {"bubble", use.bubble},
          {"units", use.units},
          {"memory",
           {{"parameters", use.parameters},
            {"gradients", use.gradients},
            {"optimizer", use.state},
            {"inputs", use.inputs},
            {"saved", use.saved},
            {"peak", use.peak}}}};
}

static Json chunkJson(const StagesReport &report, size_t chunk) {
  const PipelineProblem::Chunk &of = report.step.problem.chunks[chunk];
  return {{"stage", report.step.problem.stageOf(int64_t(chunk))},
          {"layers", report.plans.chunks[chunk].layers},
          {"forward", of.forward},
          {"backward", of.backward},
          {"input_gradients", of.input},
          {"weight_gradients", of.weights},
          {"sent_forward", report.step.sentForward[chunk]},
          {"send_forward", of.sendForward},
          {"sent_backward", report.step.sentBackward[chunk]},
          {"send_backward", of.sendBackward}};
}

static Json criticalJson(const StepTrace &trace) {
  Json json = Json::array();
  for (const CriticalCommand &each : trace.critical) {
    const PlanCommand &command = trace.plan->commands[each.span.command];
    json.push_back({{"command", each.span.command},
                    {"name", command.name()},
                    {"stage", each.rank},
                    {"begin", each.span.begin},
                    {"end", each.span.end}});
  }
  return json;
}

static void addCriticalPath(const StagesReport &report, Json &json) {
  StepTrace trace = traceOf(report);
  rt::CriticalPath path = rt::criticalPath(trace);
  json["critical_path"] = path.seconds;
  json["critical_kinds"] = Json::object();
  for (const auto &[kind, seconds] :
       rt::criticalKinds(*trace.plan, path, kindOf))
    json["critical_kinds"][kind] = seconds;
  json["critical_commands"] = criticalJson(trace);
}

std::string tpsp::tool::toJson(const StagesReport &report) {
  const PipelineProblem &problem = report.step.problem;
  Json json = {{"program", report.plans.program},
               {"hardware", report.hardware},
               {"schedule", report.schedule},
               {"overlap", report.overlap},
               {"micro_batches", problem.parts},
               {"compile", report.compileSeconds},
               {"step", report.step.seconds},
               {"bubble", report.step.bubble},
               {"matmul_utilisation", report.matmulUtilisation},
               {"memory", report.memoryBytes},
               {"needed", report.neededBytes}};
  for (const MeshAxis &axis : report.plans.mesh)
    json["mesh"][axis.name] = axis.size;
  json["stages"] = json["chunks"] = json["tied"] = Json::array();
  for (size_t i = 0; i < report.step.stages.size(); ++i)
    json["stages"].push_back(stageJson(report, i));
  for (size_t i = 0; i < report.plans.chunks.size(); ++i)
    json["chunks"].push_back(chunkJson(report, i));
  for (const TiedParameter &tied : report.step.tied)
    json["tied"].push_back({{"parameter", parameterName(report, tied)},
                            {"stages", tied.stages},
                            {"bytes", tied.bytes},
                            {"sent", tied.bytesSent},
                            {"seconds", tied.seconds}});
  addCriticalPath(report, json);
  return json.dump(2) + "\n";
}
