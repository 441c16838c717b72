// tpsp-import: makes a tpsp program from a model's config.json, or from an
// archive of torch.export.save.
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Import/Import.h"
#include "tpsp/Import/Torch.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

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
  tpsp-import model.pt2 -o model.mlir --save-weights model.safetensors
      a module of PyTorch, written by torch.export.save (docs/PyTorch.md)

Parts of --place: pp, dp, fsdp, cp, ep, tp, and sp, which divides activations
between layers along tp (docs/Import.md).

Exit status: 0 done, 1 the configuration is refused, 2 wrong usage.)";

namespace {

struct Arguments {
  std::string config, output, head = "loss";
  ImportOptions import;
  bool countsOnly = false;
  // These options are for archives.
  TorchOptions torch;
  std::vector<std::string> names, extents;
  std::string weights, constants;
  bool keepsOperations = false, keepsLayers = false, reports = false;
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

/// The options that one kind of input has alone.
static constexpr const char *ofConfigurations = "Of a config.json",
                            *ofArchives = "Of an archive";

static void declareForConfigurations(CLI::App &app, Arguments &a) {
  auto add = [&](const char *name, auto &value, const char *text) {
    return app.add_option(name, value, text)->group(ofConfigurations);
  };
  add("--sequence", a.import.sequence, "Positions of a sample (required)");
  add("--batch", a.import.batch, "Samples of a step")->capture_default_str();
  add("--dtype", a.import.dtype, "f32, bf16 or f16: what is stored")
      ->capture_default_str();
  add("--layers", a.import.layers, "The first so many layers only")
      ->check(positive());
  add("--head", a.head, "What the program computes")
      ->check(CLI::IsMember({"loss", "logits"}))
      ->capture_default_str();
  add("--capacity-factor", a.import.capacityFactor,
      "Slots of an expert, as a multiple of the average; tokens that find none "
      "are dropped. Without: no token is");
  add("--expert-blocks", a.import.expertBlocks,
      "Blocks of experts, which axes may divide; without: one for each rank of "
      "ep")
      ->check(positive());
  app.add_flag("--dropout", a.import.dropout,
               "Drop elements at the rates of config.json; without: no "
               "dropout, and a comment says so")
      ->group(ofConfigurations);
  add("--ignore-key", a.import.ignoredKeys,
      "Leave a key of config.json out of account");
}

static void declareForArchives(CLI::App &app, Arguments &a) {
  auto add = [&](const char *name, auto &value, const char *text) {
    app.add_option(name, value, text)->group(ofArchives);
  };
  auto flag = [&](const char *name, bool &value, const char *text) {
    app.add_flag(name, value, text)->group(ofArchives);
  };
  add("--save-weights", a.weights,
      "Write the parameters to this file, for --weights of tpsp-run");
  add("--save-constants", a.constants,
      "Write the constants that are integers to this file, for --inputs of "
      "tpsp-run");
  add("--name", a.names, "INDEX=NAME, another name of an index");
  add("--extent", a.extents,
      "INPUT.DIM=N, the extent of a dynamic dimension: ids.1=4096");
  app.add_option("--loss", a.torch.loss,
                 "Add a loss of the first output: cross-entropy, mse")
      ->check(CLI::IsMember({"cross-entropy", "mse"}))
      ->group(ofArchives);
  app.add_option("--targets", a.torch.targets,
                 "The input that the added loss compares with")
      ->capture_default_str()
      ->needs("--loss")
      ->group(ofArchives);
  flag("--keep-operations", a.keepsOperations,
       "Attention, norms and rotations stay the operations that they are "
       "written as");
  flag("--keep-layers", a.keepsLayers, "Every layer is written out");
  flag("--recognised", a.reports,
       "Print what was recognised to standard error");
}

static void declare(CLI::App &app, Arguments &a) {
  app.add_option("config", a.config,
                 "config.json of a Hugging Face model, or its folder; or an "
                 "archive of torch.export.save")
      ->required();
  app.add_option("-o,--output", a.output,
                 "The program; '-' and without: standard output");
  app.add_option("--place", a.import.strategy,
                 "How tensors are divided: tp, tp-sp, ddp, fsdp, tp-sp-fsdp, "
                 "ep, ...; without: not at all");
  app.add_option("--mesh", a.import.mesh,
                 "Ranks of the axes: tp=4,fsdp=2; without: two each");
  app.add_flag("--count", a.countsOnly,
               "Print how many parameters the program has, and nothing else");
  declareForConfigurations(app, a);
  declareForArchives(app, a);
  app.footer(std::string(footer) + "\n\nArchitectures: " +
             fmt::format("{}", fmt::join(importedArchitectures(), ", ")));
}

/// Refuses options of the other kind of input.
static Status checkOptions(const CLI::App &app, const Arguments &a) {
  std::error_code error;
  if (!std::filesystem::exists(a.config, error))
    return {}; // which reading it says
  bool isArchive = isTorchArchive(a.config);
  const char *other = isArchive ? ofConfigurations : ofArchives;
  for (const CLI::Option *option : app.get_options())
    if (option->get_group() == other && option->count() > 0)
      return invalid(
          "{} is an option for {}, and '{}' is {}", option->get_name(),
          isArchive ? "a config.json" : "an archive of torch.export.save",
          a.config, isArchive ? "an archive: it has its own" : "none");
  if (!isArchive && a.import.sequence == 0)
    return invalid("--sequence is required: the positions of a sample");
  return {};
}

/// Writes the program, or how many parameters it has.
static Status write(const Arguments &a, const std::string &program,
                    int64_t parameters) {
  std::string out = a.countsOnly ? fmt::format("{}\n", parameters) : program;
  if (!a.output.empty() && a.output != "-")
    return rt::writeText(a.output, out);
  std::cout << out << std::flush;
  if (!std::cout)
    return {TPSP_RT_INTERNAL, "cannot write to standard output"};
  return {};
}

static Status runConfig(Arguments &a) {
  std::string text;
  TPSP_TRY(readConfig(a.config, text));
  Imported imported;
  if (Status s = importModel(text, a.import, imported); !s.ok())
    return {s.code(), a.config + ": " + s.message()};
  return write(a, imported.program, imported.parameters);
}

/// Writes the parameters, or the integers, to a file of safetensors.
static Status saveTensors(const std::string &path,
                          const std::vector<TorchTensor> &tensors,
                          bool areInputs) {
  std::vector<rt::SafetensorsTensor> all;
  for (const TorchTensor &one : tensors)
    if (one.isInput == areInputs) {
      all.emplace_back();
      all.back().name = one.name;
      all.back().dtype = one.dtype;
      all.back().shape = one.sizes;
    }
  std::unique_ptr<rt::SafetensorsWriter> writer;
  TPSP_TRY(rt::SafetensorsWriter::create(path, all, writer));
  for (const TorchTensor &one : tensors) {
    if (one.isInput != areInputs)
      continue;
    std::string bytes;
    TPSP_TRY(one.read(bytes));
    TPSP_TRY(writer->write(*writer->find(one.name), 0, bytes.data(),
                           static_cast<int64_t>(bytes.size())));
  }
  return writer->finish();
}

static void report(const TorchImported &imported) {
  const TorchCounts &counts = imported.counts;
  std::cerr << fmt::format(
      "attention: {}, with a bias: {}, rope: {}, norms: {}, losses: {}, "
      "repeated layers: {}\n",
      counts.attentions, counts.attentionsWithBias, counts.rotations,
      counts.norms, counts.losses, counts.repeats);
}

/// Says that constants of integers are inputs, where they are not written.
static void noteConstants(const TorchImported &imported) {
  std::vector<std::string> names;
  for (const TorchTensor &tensor : imported.tensors)
    if (tensor.isInput)
      names.push_back(tensor.name);
  if (!names.empty())
    std::cerr << fmt::format(
        "note: {} constant{} of integers {} of the program: {}. Write them "
        "with --save-constants FILE, and give that to tpsp-run as --inputs "
        "FILE. Without them, tpsp-run fills in random integers\n",
        names.size(), names.size() == 1 ? "" : "s",
        names.size() == 1 ? "is an input" : "are inputs",
        fmt::join(names, ", "));
}

static Status readNames(Arguments &a) {
  for (const std::string &entry : a.names) {
    size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == entry.size())
      return invalid("--name '{}' is not INDEX=NAME, as e=hidden is", entry);
    a.torch.names[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return {};
}

static Status readExtents(Arguments &a) {
  for (const std::string &entry : a.extents) {
    size_t equals = entry.find('=');
    int64_t extent = 0;
    bool isNumber = equals != std::string::npos &&
                    CLI::detail::lexical_cast(entry.substr(equals + 1), extent);
    if (!isNumber || equals == 0 || extent < 1)
      return invalid("--extent '{}' is not INPUT.DIM=N, as ids.1=4096 is",
                     entry);
    auto [place, isNew] =
        a.torch.extents.try_emplace(entry.substr(0, equals), extent);
    if (!isNew && place->second != extent)
      return invalid("--extent {}: it has extent {} already", entry,
                     place->second);
  }
  return {};
}

static Status runArchive(Arguments &a) {
  TPSP_TRY(readNames(a));
  TPSP_TRY(readExtents(a));
  a.torch.strategy = a.import.strategy;
  a.torch.mesh = a.import.mesh;
  a.torch.recognises = !a.keepsOperations;
  a.torch.rollsUp = !a.keepsLayers;
  TorchImported imported;
  auto located = [&](const Status &s) {
    return s.ok() ? s : Status(s.code(), a.config + ": " + s.message());
  };
  TPSP_TRY(located(importTorch(a.config, a.torch, imported)));
  if (a.reports)
    report(imported);
  if (!a.weights.empty())
    TPSP_TRY(located(saveTensors(a.weights, imported.tensors, false)));
  if (!a.constants.empty())
    TPSP_TRY(located(saveTensors(a.constants, imported.tensors, true)));
  else
    noteConstants(imported);
  return write(a, imported.program, imported.parameters);
}

static Status run(Arguments &a) {
  return isTorchArchive(a.config) ? runArchive(a) : runConfig(a);
}

int main(int argc, char **argv) {
  CLI::App app("From a model's config.json to a tpsp program.", "tpsp-import");
  Arguments arguments;
  declare(app, arguments);
  app.set_version_flag("--version", "tpsp-import " TPSP_VERSION);
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
  if (Status s = checkOptions(app, arguments); !s.ok()) {
    std::cerr << "tpsp-import: " << s.message()
              << "\nRun with --help for more information.\n";
    return 2;
  }
  if (Status s = run(arguments); !s.ok()) {
    std::cerr << "tpsp-import: " << s.message() << "\n";
    return 1;
  }
  return 0;
}
