#include "tpsp/Planner/Profile.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::planner;

namespace tpsp {
// Defined in EmbeddedProfile.cpp.
const char *embeddedProfile(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> embeddedProfileNames();
} // namespace tpsp

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The facts about memory. A profile has all of them or none.
static constexpr const char *factNames[] = {"parameter_bytes",
                                            "gradient_bytes",
                                            "state_bytes",
                                            "saved_hidden_divided",
                                            "saved_ffn_divided",
                                            "saved_hidden_whole",
                                            "saved_hidden_without_sp",
                                            "overhead_without_sp",
                                            "checkpoint_bytes",
                                            "token_bytes",
                                            "embedding_mask_bytes",
                                            "logit_bytes",
                                            "logit_bytes_without_sp",
                                            "allocator_round",
                                            "allocator_small_segment"};

std::vector<std::string> tpsp::planner::builtinProfiles() {
  std::vector<std::string> names;
  for (llvm::StringRef name : embeddedProfileNames())
    names.push_back(name.str());
  return names;
}

namespace tpsp::planner {

template <typename Object>
static void fields(Object &field, Profile::Fact &fact) {
  field("value", fact.value, Rule{1, 0, 1e9});
  field("source", fact.source);
}

template <typename Object>
static void fields(Object &field, Profile::Option &option) {
  field("value", option.value);
  field("source", option.source);
}

struct FactsField {
  std::map<std::string, Profile::Fact> &facts;
};
template <typename Object> static void fields(Object &field, FactsField out) {
  for (const char *name : factNames)
    field(name, out.facts[name]);
}

template <typename Object> static void fields(Object &field, Profile &profile) {
  std::string about;
  field("name", profile.name);
  field("about", about, optional);
  field("version", profile.version);
  field("facts", FactsField{profile.facts}, optional);
  field("options", profile.options, optional);
  field("host_us", profile.hostMicroseconds, optional);
}

} // namespace tpsp::planner

static llvm::Expected<Profile> parse(llvm::StringRef text,
                                     llvm::StringRef where) {
  OrderedJson json;
  Profile profile;
  std::string problem;
  if (rt::Status parsed = parseJson(text, json); !parsed.ok())
    problem = parsed.message();
  else
    readFields(json, {"", problem}, profile);
  const std::optional<Profile::Fact> &host = profile.hostMicroseconds;
  constexpr double longest = 1e6;
  if (problem.empty() && host && host->value > longest)
    problem = fmt::format("host_us.value: expected a number up to {}, not {}",
                          longest, host->value);
  if (problem.empty() && !profile.describesMemory() &&
      profile.options.empty() && !host)
    problem = "expected 'facts', 'options' or 'host_us'";
  if (problem.empty())
    return profile;
  return llvm::createStringError(
      fmt::format("profile '{}': {}", where.str(), problem));
}

llvm::Expected<Profile> tpsp::planner::findProfile(llvm::StringRef nameOrPath) {
  if (const char *text = embeddedProfile(nameOrPath))
    return parse(text, nameOrPath);
  constexpr int64_t longest = 1 << 20;
  std::string text;
  if (rt::Status read = rt::readWhole(nameOrPath.str(), longest, text);
      !read.ok())
    return llvm::createStringError(fmt::format(
        "'{}' is no built-in profile ({}) and cannot be read as a file: {}",
        nameOrPath.str(), fmt::join(builtinProfiles(), ", "), read.message()));
  return parse(text, nameOrPath);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static bool isMatrix(const TensorFacts &tensor) {
  return tensor.kind == TensorFacts::Kind::Parameter && tensor.dims.size() >= 2;
}

static bool isOfAttention(ClassId id, const ProgramFacts &facts) {
  return llvm::any_of(facts.attentionTensors, [&](const TensorFacts &tensor) {
    return llvm::is_contained(tensor.dims, id);
  });
}

/// The extent of a parameter's dimension, over all its tensors: the longest.
static int64_t
longestDim(const ProgramFacts &facts,
           llvm::function_ref<bool(const TensorFacts &, size_t)> isMeant) {
  int64_t longest = 0;
  for (const TensorFacts &tensor : facts.tensors)
    for (size_t dim = 0; isMatrix(tensor) && dim < tensor.dims.size(); ++dim)
      if (isMeant(tensor, dim))
        longest = std::max(longest, tensor.shape[dim]);
  return longest;
}

/// The class of the features that layers hand on; nullopt if there is none.
static std::optional<ClassId> streamOf(const ProgramFacts &facts) {
  for (const TensorFacts &tensor : facts.tensors)
    if (tensor.kind == TensorFacts::Kind::Parameter &&
        tensor.dims.size() == 1 && facts.isOfLayers(tensor) &&
        !isOfAttention(tensor.dims[0], facts))
      return tensor.dims[0];
  return std::nullopt;
}

std::optional<ModelSizes> tpsp::planner::modelSizes(const ProgramFacts &facts) {
  std::optional<ClassId> stream = streamOf(facts);
  bool hasExperts = llvm::any_of(facts.classes, [](const IndexClass &index) {
    return index.hasOwnParameters;
  });
  if (!stream || hasExperts)
    return std::nullopt;
  auto isOther = [&](const TensorFacts &tensor, size_t dim) {
    return tensor.dims[dim] != *stream &&
           !isOfAttention(tensor.dims[dim], facts);
  };
  ModelSizes sizes;
  sizes.hidden = longestDim(facts, [&](const TensorFacts &tensor, size_t dim) {
    return tensor.dims[dim] == *stream;
  });
  sizes.ffn = longestDim(facts, [&](const TensorFacts &tensor, size_t dim) {
    return facts.isOfLayers(tensor) && isOther(tensor, dim);
  });
  sizes.vocabulary =
      longestDim(facts, [&](const TensorFacts &tensor, size_t dim) {
        return !facts.isOfLayers(tensor) && isOther(tensor, dim);
      });
  bool isDense = sizes.hidden > 0 && sizes.ffn > 0 && sizes.vocabulary > 0;
  return isDense ? std::optional(sizes) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Elements of one rank's parameters in the stage that has most.
static double parametersOf(const UsualTerms &terms, const Candidate &candidate,
                           const ProgramFacts &facts) {
  double ofLayers = 0, first = 0, last = 0;
  for (const TensorFacts &tensor : facts.tensors) {
    if (tensor.kind != TensorFacts::Kind::Parameter)
      continue;
    double elements = double(tensor.bytes()) / double(tensor.elementBytes);
    for (const std::vector<unsigned> &axes : subscriptsOf(tensor, candidate))
      for (unsigned axis : axes)
        elements /= double(candidate.axes[axis].size);
    bool isTable = !tensor.lookedUp.empty();
    if (facts.isOfLayers(tensor))
      ofLayers += elements / double(terms.pipeline);
    else if (isTable)
      first += elements;
    // A table that is also the head is in both ends.
    if (!facts.isOfLayers(tensor) && (!isTable || !tensor.contracted.empty()))
      last += isTable && terms.pipeline == 1 ? 0 : elements;
  }
  return ofLayers +
         (terms.pipeline == 1 ? first + last : std::max(first, last));
}

namespace {

/// Activations by Megatron-LM's formulas: those of the first stage.
class Activations {
public:
  Activations(const Profile &profile, const UsualTerms &terms,
              const ModelSizes &sizes)
      : profile(profile), terms(terms), sizes(sizes),
        positions(double(terms.sequence) / double(terms.context) *
                  double(terms.localBatch())) {}

  double bytes() const {
    double all =
        checkpointedLayers() * checkpointBytes() +
        (double(terms.layers) - checkpointedLayers()) * workingBytes() +
        endBytes();
    all *= inFlight();
    if (terms.pipeline == 1)
      all += logitBytes();
    if (checkpointedLayers() > 0)
      all += workingBytes();
    return terms.isSequenceParallel || terms.tensor == 1
               ? all
               : all * profile.of("overhead_without_sp");
  }

  /// The bytes of one of the tensors that a layer saves, of which the formula
  /// has two bytes for each feature.
  double tensorBytes() const {
    return 2 * positions * double(sizes.hidden) / double(terms.tensor);
  }
  /// The number of saved tensors on a rank.
  double tensors() const {
    double perLayer =
        (profile.of("saved_hidden_divided") + profile.of("saved_ffn_divided")) /
        2;
    return double(terms.layers) / double(terms.pipeline) * perLayer;
  }

private:
  /// How many layers are rematerialised whole.
  double checkpointedLayers() const {
    Rematerialisation redone = Rematerialisation::of(terms.settings);
    if (redone.mode != "full")
      return 0;
    return double(redone.layers > 0 ? std::min(redone.layers, terms.layers)
                                    : terms.layers);
  }
  bool dividesAll() const {
    return terms.isSequenceParallel || terms.tensor == 1;
  }

  /// The bytes that a rematerialised layer saves.
  double checkpointBytes() const {
    return profile.of("checkpoint_bytes") * positions * double(sizes.hidden) /
           double(dividesAll() ? terms.tensor : 1);
  }

  /// Everything that a layer saves without recomputation. Attention's scores
  /// are not saved: its kernels recompute them.
  double workingBytes() const {
    double hidden = positions * double(sizes.hidden),
           ffn = positions * double(sizes.ffn), ranks = double(terms.tensor);
    if (dividesAll())
      return (profile.of("saved_hidden_divided") * hidden +
              profile.of("saved_ffn_divided") * ffn) /
             ranks;
    return hidden * (profile.of("saved_hidden_whole") +
                     profile.of("saved_hidden_without_sp") / ranks);
  }

  /// The embedding's input and dropout, for each stage.
  double endBytes() const {
    double perPosition =
        profile.of("token_bytes") +
        profile.of("embedding_mask_bytes") * double(sizes.hidden);
    double ranks = dividesAll() ? double(terms.tensor) : 1;
    return perPosition * positions * double(terms.pipeline) / ranks;
  }

  /// The share of all layers' activations that the first stage holds: those of
  /// as many micro-batches as it has in flight.
  double inFlight() const {
    double stages = double(terms.pipeline),
           chunks = double(terms.settings.chunks);
    if (chunks > 1)
      return 1 + (stages - 1) / (stages * chunks);
    return std::min(1.0, double(terms.settings.microBatches) / stages);
  }

  double logitBytes() const {
    double hidden = positions * double(sizes.hidden),
           words = positions * double(sizes.vocabulary),
           ranks = double(terms.tensor);
    if (dividesAll())
      return profile.of("logit_bytes") * (hidden + words) / ranks;
    return profile.of("logit_bytes_without_sp") * (hidden + words / ranks);
  }

  const Profile &profile;
  const UsualTerms &terms;
  const ModelSizes &sizes;
  /// Positions of a rank's micro-batch.
  const double positions;
};

} // namespace

/// Blocks are rounded up, and small ones share segments.
static int64_t reservedBytes(const Profile &profile,
                             const ProfiledMemory &memory,
                             const Activations &activations) {
  double round = profile.of("allocator_round");
  double tensor = activations.tensorBytes();
  // Smaller blocks share segments.
  bool isLarge =
      round > 0 && tensor >= profile.of("allocator_small_segment") / 2;
  double waste = isLarge ? (std::ceil(tensor / round) * round - tensor) *
                               activations.tensors()
                         : 0;
  return memory.allocated() +
         int64_t(std::max(waste, 0.0) + profile.of("allocator_small_segment"));
}

std::optional<ProfiledMemory>
tpsp::planner::memoryBy(const Profile &profile, const Candidate &candidate,
                        const ProgramFacts &facts, const TermNames &names,
                        bool hasState) {
  if (!profile.describesMemory())
    return std::nullopt;
  UsualTerms terms = usualTerms(candidate, facts, names);
  std::optional<ModelSizes> sizes = modelSizes(facts);
  if (terms.problem || !sizes || terms.shard > 1 || terms.contextStores)
    return std::nullopt;
  double parameters = parametersOf(terms, candidate, facts);
  double dividing = double(terms.data() * terms.context);
  Activations activations(profile, terms, *sizes);
  ProfiledMemory memory;
  memory.parameters = int64_t(parameters * profile.of("parameter_bytes"));
  memory.gradients = int64_t(parameters * profile.of("gradient_bytes"));
  if (hasState)
    memory.state = int64_t(parameters * profile.of("state_bytes") /
                           (terms.dividesState ? dividing : 1));
  memory.activations = int64_t(activations.bytes());
  memory.reserved = reservedBytes(profile, memory, activations);
  return memory;
}
