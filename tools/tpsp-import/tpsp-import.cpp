// tpsp-import: makes a tpsp program from a model's config.json.
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Import/Import.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

static constexpr const char *footer = R"(Examples:
  tpsp-import config.json --sequence 4096 -o model.mlir
      a program for one rank, which computes a loss
  tpsp-import FOLDER --sequence 512 --place tp-sp --mesh tp=4 -o model.mlir
  tpsp-run model.mlir --weights FOLDER --inputs tokens.npy --inputs targets.npy
      a checkpoint's folder, with its configuration, on four ranks
  tpsp-import config.json --sequence 128 --layers 2 --dtype bf16 --head logits
      two layers and the logits, on standard output
  tpsp-import config.json --sequence 1 --count
      how many parameters the model has

Parts of --place: pp, dp, fsdp, cp, ep, tp, and sp, which divides activations
between layers along tp (docs/Import.md).

Exit status: 0 done, 1 the configuration is refused, 2 wrong usage.)";

namespace {

struct Arguments {
  std::string config, output, head = "loss";
  ImportOptions import;
  bool countsOnly = false;
};

} // namespace

/// Bytes of a configuration, at most. A larger file is likely to be a
/// checkpoint.
static constexpr int64_t mostBytes = 16 << 20;

static Status readConfig(std::string &path, std::string &text) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    path = (std::filesystem::path(path) / "config.json").string();
  Status read = rt::readWhole(path, mostBytes, text);
  return read.ok() ? read
                   : invalid("cannot read '{}': {}", path, read.message());
}

/// Used instead of CLI11's own check, whose message names the largest double.
static CLI::Validator positive() {
  auto check = [](const std::string &text) -> std::string {
    int64_t number = 0;
    bool isNumber = CLI::detail::lexical_cast(text, number);
    return isNumber && number > 0
               ? ""
               : "expected a number above 0, not '" + text + "'";
  };
  return {check, "POSITIVE"};
}

static void declare(CLI::App &app, Arguments &a) {
  app.add_option("config", a.config,
                 "config.json of a Hugging Face model, or its folder")
      ->required();
  app.add_option("-o,--output", a.output,
                 "The program; '-' and without: standard output");
  app.add_option("--sequence", a.import.sequence, "Positions of a sample")
      ->required();
  app.add_option("--batch", a.import.batch, "Samples of a step")
      ->capture_default_str();
  app.add_option("--dtype", a.import.dtype, "f32, bf16 or f16: what is stored")
      ->capture_default_str();
  app.add_option("--layers", a.import.layers, "The first so many layers only")
      ->check(positive());
  app.add_option("--head", a.head, "What the program computes")
      ->check(CLI::IsMember({"loss", "logits"}))
      ->capture_default_str();
  app.add_option("--place", a.import.strategy,
                 "How tensors are divided: tp, tp-sp, ddp, fsdp, tp-sp-fsdp, "
                 "ep, ...; without: not at all");
  app.add_option("--mesh", a.import.mesh,
                 "Ranks of the axes: tp=4,fsdp=2; without: two each");
  app.add_option("--capacity-factor", a.import.capacityFactor,
                 "Slots of an expert, as a multiple of the average; tokens "
                 "that find none are dropped. Without: no token is");
  app.add_option("--expert-blocks", a.import.expertBlocks,
                 "Blocks of experts, which axes may divide; without: one for "
                 "each rank of ep")
      ->check(positive());
  app.add_option("--ignore-key", a.import.ignoredKeys,
                 "Leave a key of config.json out of account");
  app.add_flag("--count", a.countsOnly,
               "Print how many parameters the program has, and nothing else");
  app.footer(std::string(footer) + "\n\nArchitectures: " +
             fmt::format("{}", fmt::join(importedArchitectures(), ", ")));
}

static Status run(Arguments &a) {
  std::string text;
  TPSP_TRY(readConfig(a.config, text));
  Imported imported;
  if (Status s = importModel(text, a.import, imported); !s.ok())
    return {s.code(), a.config + ": " + s.message()};
  std::string out = a.countsOnly ? fmt::format("{}\n", imported.parameters)
                                 : imported.program;
  if (!a.output.empty() && a.output != "-")
    return rt::writeText(a.output, out);
  std::cout << out << std::flush;
  if (!std::cout)
    return {TPSP_RT_INTERNAL, "cannot write to standard output"};
  return {};
}

int main(int argc, char **argv) {
  CLI::App app("From a model's config.json to a tpsp program.", "tpsp-import");
  Arguments arguments;
  declare(app, arguments);
  app.failure_message([](const CLI::App *, const CLI::Error &error) {
    return std::string("tpsp-import: ") + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    app.parse(argc, argv);
    arguments.import.head =
        arguments.head == "loss" ? Head::Loss : Head::Logits;
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (Status s = run(arguments); !s.ok()) {
    std::cerr << "tpsp-import: " << s.message() << "\n";
    return 1;
  }
  return 0;
}
