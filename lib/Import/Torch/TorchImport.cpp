#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Import/Torch.h"

#include "Importer.h"
#include "Recognise.h"
#include "Refusal.h"
#include "Simplify.h"
#include "Writer.h"

#include <algorithm>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

bool tpsp::import::isTorchArchive(const std::string &path) {
  // Neither a pipe nor a device is read: it may never end.
  rt::FileHandle file;
  int64_t bytes = 0;
  char begin[4] = {};
  if (!rt::openToRead(path, file, bytes).ok())
    return false;
  bool isZip = bytes >= 4 && rt::readAt(file, 0, 4, begin).ok() &&
               std::string(begin, 4) == "PK\x03\x04";
  return isZip || std::filesystem::path(path).extension() == ".pt2";
}

/// As safetensors call it.
static std::string formatName(const std::string &element) {
  std::string name = element;
  for (char &one : name)
    one = static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
  return name;
}

/// Elements of a constant, as the program takes them.
static std::string bytesOfConstant(const torch::Constant &constant,
                                   const std::string &element) {
  std::string bytes;
  for (double value : constant.elements()) {
    auto single = static_cast<float>(value);
    auto integer = static_cast<int32_t>(value);
    if (element == "i32")
      bytes.append(reinterpret_cast<const char *>(&integer), sizeof integer);
    else
      bytes.append(reinterpret_cast<const char *>(&single), sizeof single);
  }
  return bytes;
}

static TorchTensor tensorOf(std::shared_ptr<torch::Archive> archive,
                            const torch::Graph &graph,
                            const torch::ProgramArgument &argument,
                            std::vector<int64_t> sizes) {
  TorchTensor out;
  out.name = argument.stored;
  out.sizes = std::move(sizes);
  std::string element = torch::elementOf(argument.type);
  out.dtype =
      formatName(argument.constant && element != "i32" ? "f32" : element);
  out.isInput = argument.kind == torch::ProgramArgument::Kind::Input;
  auto found = graph.stored.find(argument.stored);
  if (argument.constant) {
    out.read = [constant = argument.constant, element](std::string &bytes) {
      bytes = bytesOfConstant(*constant, element);
      return Status();
    };
  } else if (found != graph.stored.end()) {
    out.read = [archive, stored = found->second](std::string &bytes) -> Status {
      try {
        bytes = torch::readStored(*archive, stored);
        return {};
      } catch (const torch::Refusal &why) {
        return {TPSP_RT_INVALID, why.what()};
      }
    };
  } else {
    out.read = [name = out.name](std::string &) {
      return invalid("it has no bytes of '{}'; export with weights", name);
    };
  }
  return out;
}

static void addTensors(const std::shared_ptr<torch::Archive> &archive,
                       const torch::Graph &graph, const torch::Program &program,
                       TorchImported &out) {
  for (const torch::ProgramArgument &argument : program.arguments) {
    std::vector<int64_t> sizes;
    for (const torch::AtomList &dim : argument.dims)
      sizes.push_back(program.atoms.extent(dim));
    bool isParameter = argument.kind == torch::ProgramArgument::Kind::Parameter;
    if (isParameter && !argument.isFrozen)
      out.parameters += torch::elementsOf(sizes);
    if (isParameter || argument.constant)
      out.tensors.push_back(
          tensorOf(archive, graph, argument, std::move(sizes)));
  }
}

/// Whether an operand after q, k and v has the index of queries or keys. A sink
/// has neither.
static bool hasBias(const torch::Program &program,
                    const torch::Operation &attention) {
  auto carries = [&](torch::ValueId value, const char *role) {
    torch::AtomList atoms = program.atoms.leaves(program.values[value].atoms),
                    index =
                        program.atoms.leaves(std::get<torch::IndexAttribute>(
                                                 attention.attributes.at(role))
                                                 .atoms);
    return torch::contains(atoms, index.front());
  };
  return std::any_of(attention.operands.begin() + 3, attention.operands.end(),
                     [&](torch::ValueId value) {
                       return carries(value, "query") || carries(value, "key");
                     });
}

static void count(const torch::Program &program, TorchCounts &counts) {
  for (const torch::Operation &one : program.operations) {
    counts.attentions += one.name == "attention";
    counts.attentionsWithBias +=
        one.name == "attention" && hasBias(program, one);
    counts.rotations += one.name == "rope";
    counts.norms += one.name == "rms_norm" || one.name == "layer_norm";
    counts.losses += one.name == "cross_entropy";
  }
}

static void importArchive(const std::string &path, const TorchOptions &options,
                          ProgramText &text, TorchImported &out) {
  auto archive = std::make_shared<torch::Archive>(path);
  torch::Graph graph = torch::readGraph(*archive, options.extents);
  torch::Program program = torch::buildProgram(*archive, graph, options);
  torch::removeTakenParts(program);
  torch::removeDead(program);
  if (options.recognises) {
    torch::recogniseNorms(program);
    torch::recogniseSinks(program);
    torch::removeDead(program);
    torch::recogniseAttention(program);
    torch::recogniseRotations(program);
  }
  torch::removeTranspositions(program);
  torch::removeDead(program);
  torch::LayerFunctions layers;
  if (options.rollsUp)
    layers = torch::findLayers(program);
  torch::Names names(program, options.names);
  torch::writeProgram(program, layers, names, text);
  names.checkWanted();
  addTensors(archive, graph, program, out);
  count(program, out.counts);
  out.counts.repeats =
      static_cast<int64_t>(layers.repeats.size() + layers.called.size());
}

Status tpsp::import::importTorch(const std::string &path,
                                 const TorchOptions &options,
                                 TorchImported &out) {
  Strategy strategy;
  if (!options.strategy.empty() || !options.mesh.empty())
    TPSP_TRY(Strategy::parse(options.strategy, options.mesh, strategy));
  ProgramText text(strategy, "f32");
  try {
    importArchive(path, options, text, out);
  } catch (const torch::Refusal &why) {
    return {TPSP_RT_INVALID, why.what()};
  } catch (const std::bad_alloc &) {
    return invalid("it needs more memory than there is");
  } catch (const std::exception &why) {
    return invalid("its graph is not as the schema says: {}", why.what());
  }
  TPSP_TRY(text.check());
  out.program = text.text("// From a PyTorch archive by tpsp-import.");
  return {};
}
