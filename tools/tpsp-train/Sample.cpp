#include "Sample.h"

#include "common/Compile.h"
#include "common/MakeWorld.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Runtime/Train/Checkpoint.h"
#include "tpsp/Runtime/Train/Sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <random>

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::train;

namespace fs = std::filesystem;

bool tpsp::train::samples(const Options &options) {
  return options.has("sample") || options.has("sample-tokens");
}

/// The tokens that the text begins with.
static rt::Status beginningOf(const Options &options,
                              std::vector<int64_t> &tokens) {
  for (unsigned char byte : options.sample)
    tokens.push_back(byte);
  for (const std::string &text : options.sampleTokens) {
    char *end = nullptr;
    int64_t token = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end || token < 0)
      return rt::invalid("--sample-tokens has '{}', which is no token; write "
                         "numbers, as in --sample-tokens 15496,11",
                         text);
    tokens.push_back(token);
  }
  return {};
}

/// Takes the parameters of the checkpoint that --resume names.
static rt::Status takeCheckpoint(Options &options) {
  if (options.resume.empty())
    return {};
  std::string checkpoint, warning;
  TrainingPosition position;
  std::vector<rt::AgreedFile> files;
  TPSP_TRY(findCheckpoint(options.resume, checkpoint));
  TPSP_TRY(readCheckpoint(checkpoint, position, files, warning));
  options.weights = (fs::path(checkpoint) / "parameters.safetensors").string();
  return {};
}

/// The options of a forward pass that drops nothing.
static void makeForward(Options &options) {
  options.grad = false;
  options.dropout = false;
  options.optimizer = "none";
  options.microBatches = 1;
}

/// Bytes are the tokens of a text. A larger vocabulary has tokens of another
/// kind, unless the user says that it has bytes.
static rt::Status checkBytes(const Options &options, int64_t vocabulary) {
  if (options.sample.empty() || vocabulary <= 256 ||
      options.dataFormat == "text")
    return {};
  return rt::invalid(
      "--sample makes tokens of the text's bytes, and this model has {} "
      "tokens, so it was trained on others; give the text's tokens by "
      "--sample-tokens, or --data-format text if they are bytes",
      vocabulary);
}

static void print(const Options &options, const std::vector<int64_t> &tokens,
                  size_t begin) {
  for (size_t i = begin; i < tokens.size(); ++i)
    if (options.has("sample") && tokens[i] < 256)
      std::fputc(int(tokens[i]), stdout);
    else
      fmt::print("{}{}", i == 0 ? "" : ",", tokens[i]);
  std::fflush(stdout);
}

namespace {

/// A forward pass that is ready to run. The members are destroyed in reverse.
struct Forward {
  Program program;
  Arguments arguments;
  std::unique_ptr<rt::World> world;
  Sampler sampler;
};

} // namespace

static rt::Status open(Options &options, Progress &progress, Forward &out) {
  CompileUse use;
  use.isSampled = true;
  TPSP_TRY(openProgram(options, use, /*speaks=*/true, progress, out.program));
  const Plan &plan = out.program.plan();
  TPSP_TRY(openArguments(
      options, plan,
      std::make_unique<rt::RandomSource>(options.seed, rt::RandomUse::Training),
      out.arguments));
  if (!out.arguments.warning.empty() && !options.quiet)
    fmt::print(stderr, "tpsp-train: warning: {}\n", out.arguments.warning);
  TPSP_TRY(makeWorld(options, out.program, {}, out.world));
  TPSP_TRY(Sampler::create({&plan, out.program.step, out.world.get()},
                           *out.arguments.source, out.sampler));
  return out.world->run([&](rt::Rank &rank) {
    return rt::fillArguments(rank, *out.arguments.source, plan);
  });
}

/// Draws `options.sampleCount` tokens, and prints each at once.
static rt::Status draw(const Options &options, Sampler &sampler,
                       std::vector<int64_t> &tokens) {
  std::mt19937_64 random(options.seed);
  std::vector<double> logits;
  for (int64_t i = 0; i < options.sampleCount; ++i) {
    TPSP_TRY(sampler.logitsAfter(tokens, 0, logits));
    // The distribution of the standard library is not the same everywhere.
    double uniform = double(random() >> 11) * 0x1p-53;
    int64_t token = drawToken(logits, options.temperature, uniform);
    if (token < 0)
      return rt::invalid("no logit after token {} is finite; the parameters "
                         "are not finite, or not this model's",
                         tokens.size() - 1);
    tokens.push_back(token);
    print(options, tokens, tokens.size() - 1);
  }
  return {};
}

rt::Status tpsp::train::sample(Options options) {
  Progress progress(options.quiet);
  std::vector<int64_t> tokens;
  TPSP_TRY(beginningOf(options, tokens));
  TPSP_TRY(takeCheckpoint(options));
  makeForward(options);
  Forward forward;
  TPSP_TRY(open(options, progress, forward));
  TPSP_TRY(checkBytes(options, forward.sampler.vocabulary()));
  TPSP_TRY(forward.sampler.checkCausal(tokens));
  progress.done();
  print(options, tokens, 0);
  auto begin = std::chrono::steady_clock::now();
  rt::Status status = draw(options, forward.sampler, tokens);
  std::fputc('\n', stdout);
  std::fflush(stdout);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (status.ok() && !options.quiet)
    fmt::print(stderr, "{}, {} each\n",
               rt::counted(options.sampleCount, "token"),
               rt::secondsText(seconds.count() / double(options.sampleCount)));
  return status;
}
