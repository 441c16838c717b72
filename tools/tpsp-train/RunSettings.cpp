#include "RunSettings.h"

#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tpsp;
using namespace tpsp::train;

static constexpr const char *optimizerFlag = "--optimizer",
                            *dtypeFlag = "--dtype";

RunSettings tpsp::train::settingsOf(const Options &options,
                                    const LearningRate &rate,
                                    const Batches &data) {
  RunSettings all = {
      {"--batch", fmt::to_string(data.sequences())},
      {"--lr", fmt::format("{:g}", rate.peak)},
      {"--min-lr", fmt::format("{:g}", rate.low)},
      {"--schedule", rate.schedule},
      {"--steps", fmt::to_string(rate.steps)},
      {"--warmup", fmt::to_string(rate.warmup)},
  };
  if (options.isPlan)
    return all;
  all[optimizerFlag] = options.optimizer;
  all["--optimizer-settings"] =
      fmt::format("{}", fmt::join(options.optimizerSettings, ","));
  all[dtypeFlag] = options.dtype;
  all["--clip"] = fmt::format("{:g}", options.clip);
  return all;
}

std::string tpsp::train::differenceOf(const RunSettings &then,
                                      const RunSettings &now) {
  auto said = [](const std::string &value) {
    return value.empty() ? std::string("as by default") : value;
  };
  std::vector<std::string> texts;
  for (const auto &[flag, value] : then)
    if (auto it = now.find(flag); it != now.end() && it->second != value)
      texts.push_back(
          fmt::format("{} {} (here {})", flag, said(value), said(it->second)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

rt::Status tpsp::train::checkState(const std::string &checkpoint,
                                   const RunSettings &then,
                                   const Options &options) {
  if (options.isPlan)
    return {};
  const std::pair<const char *, std::string> decisive[] = {
      {optimizerFlag, options.optimizer}, {dtypeFlag, options.dtype}};
  for (const auto &[flag, now] : decisive) {
    auto it = then.find(flag);
    // Most programs are in f32 as they are written.
    auto kept = [](const std::string &value) {
      return value.empty() ? std::string("f32") : value;
    };
    if (it == then.end() || kept(it->second) == kept(now))
      continue;
    auto with = [&](const std::string &value) {
      return value.empty() ? fmt::format("no {}", flag)
                           : fmt::format("{} {}", flag, value);
    };
    return rt::invalid(
        "'{}' has the state of {}, which {} does not take; resume with {}, or "
        "begin with new state: --weights {}/parameters.safetensors",
        checkpoint, with(it->second),
        now.empty() ? "a run without it" : with(now), with(it->second),
        checkpoint);
  }
  return {};
}
