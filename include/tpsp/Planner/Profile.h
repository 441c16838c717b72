/// A profile says what a step of another system is made of. It is data, each
/// fact with its source: profiles/*.json.
///
///   memory: what a rank holds. Megatron-LM has 18 bytes a parameter, or 6 +
///     12 / dp with the distributed optimizer; f32 gradients for the whole
///     step; activations by the formulas of its report_theoretical_memory
///   time: the options with which tpsp compiles a step that resembles the
///     system's, for instance one kernel for each operation; and the time of
///     the host
#ifndef TPSP_PLANNER_PROFILE_H
#define TPSP_PLANNER_PROFILE_H

#include "tpsp/Planner/UsualTerms.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>

namespace tpsp::planner {

struct Profile {
  struct Fact {
    double value = 0;
    /// Where the system states it.
    std::string source;
  };

  struct Option {
    std::string value, source;
  };

  std::string name, version;
  /// The facts about memory; empty if the profile has none.
  std::map<std::string, Fact> facts;
  /// Options of the compilation, by their names (Options.def). Whether there
  /// are such options is not checked here.
  std::map<std::string, Option> options;
  /// Microseconds in which the host issues a command of such a step.
  std::optional<Fact> hostMicroseconds;

  bool describesMemory() const { return !facts.empty(); }
  /// The value of a fact about memory.
  double of(const std::string &fact) const { return facts.at(fact).value; }
};

/// The names of the built-in profiles.
std::vector<std::string> builtinProfiles();

/// Reads a built-in profile or a file. An error names the key, and the keys
/// that a profile has.
llvm::Expected<Profile> findProfile(llvm::StringRef nameOrPath);

/// The model's sizes that formulas need.
struct ModelSizes {
  /// The width of layers, the features of their MLP, and the words.
  int64_t hidden = 0, ffn = 0, vocabulary = 0;
};

/// The sizes of the program that the formulas need. Returns nullopt if they do
/// not apply: layers that are not alike, experts, or no dense MLP.
std::optional<ModelSizes> modelSizes(const ProgramFacts &facts);

/// Bytes of the rank that holds most: in the first stage, or with a larger
/// share of the parameters.
struct ProfiledMemory {
  int64_t parameters = 0, gradients = 0, state = 0, activations = 0;
  /// The bytes that the allocator reserves at least for these: its blocks are
  /// rounded up.
  int64_t reserved = 0;

  int64_t allocated() const {
    return parameters + gradients + state + activations;
  }
};

/// The memory of a step of the system; nullopt if the profile has no formulas
/// for the candidate, as for parameters that are stored divided. `hasState`:
/// whether parameters are updated.
std::optional<ProfiledMemory> memoryBy(const Profile &profile,
                                       const Candidate &candidate,
                                       const ProgramFacts &facts,
                                       const TermNames &names, bool hasState);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_PROFILE_H
