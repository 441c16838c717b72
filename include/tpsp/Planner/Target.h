/// The systems that plans are made for and exported to, and what each of them
/// can express. These are facts of the systems, a row each, with the place
/// where the system states them (lib/Planner/Export/Targets.cpp).
///
///   shard > 1 && pipeline > 1   "--use-torch-fsdp2 has no pipeline stages"
///
/// `tpsp-plan --for` searches only plans that break no row, so that the export
/// cannot refuse.
#ifndef TPSP_PLANNER_TARGET_H
#define TPSP_PLANNER_TARGET_H

#include "tpsp/Planner/UsualTerms.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tpsp::planner {

/// Something that a system cannot do.
struct TargetRule {
  /// When a plan that breaks the rule is known to.
  enum class Known {
    Early, ///< from its outer axes: further axes do not mend it
    Whole, ///< from all of its axes
    Set    ///< from its axes and settings; further axes do not mend it
  };

  Known known;
  bool (*isBroken)(const UsualTerms &plan);
  /// A clause that follows the system's name. "{chunks}" and so on are the
  /// plan's numbers.
  const char *why;
  /// The options to give tpsp-plan instead.
  const char *wayOut;
  /// The file, of the version below, that states it.
  const char *source;
};

/// Something that a system does otherwise than the plan says, without being
/// told.
struct TargetNote {
  bool (*applies)(const UsualTerms &plan);
  const char *text;
  const char *source;
};

/// An order of the mesh's axes, outermost first, and the flag that selects it.
struct TargetOrder {
  llvm::ArrayRef<TermKind> kinds;
  const char *flag;
};

struct Target {
  /// As --for and --export take it, and as sentences have it.
  const char *name, *title;
  /// The version that has been read for the facts.
  const char *version;
  /// The profile of its step: a name of builtinProfiles().
  const char *profile;
  llvm::ArrayRef<TargetOrder> orders;
  /// Sentences of the orders: as a rule's.
  const char *otherOrder, *orderSource;
  /// The rules, and those of this version alone.
  llvm::ArrayRef<TargetRule> rules, furtherRules;
  llvm::ArrayRef<TargetNote> notes;
};

/// The targets, in the order of the help. "torchtitan" is the latest version.
llvm::ArrayRef<Target> targets();
/// The words for --for, and for --export, which also has "json".
std::vector<std::string> targetWords();
/// The target of this word; null for another.
const Target *findTarget(llvm::StringRef word);

/// Who reads the plans of a search. Plain value.
struct Reader {
  /// Null: anybody, so that no plan is refused. Not owned.
  const Target *target = nullptr;
  TermNames names;

  /// Whether plans with these outer axes may be expressed.
  bool mayTake(const Candidate &outer, const ProgramFacts &facts) const;
  /// Whether the axes of a whole candidate can be expressed with some settings.
  bool takesAxes(const Candidate &candidate, const ProgramFacts &facts) const;
  /// Whether the settings can be expressed on these (outer) axes.
  bool takesSettings(const Candidate &outer, const Settings &settings,
                     const ProgramFacts &facts) const;
  /// Removes settings that cannot be expressed on any axes. Returns why, as
  /// whyNot(), if none is left; else "".
  std::string keepTaken(std::vector<Settings> &settings,
                        const ProgramFacts &facts) const;
};

/// Why the target cannot express the plan: a sentence with a way out. Empty if
/// it can.
std::string whyNot(const Target &target, const Candidate &candidate,
                   const ProgramFacts &facts, const TermNames &names);

/// The first of the target's orders that the plan has; null for none.
const TargetOrder *meshOrderOf(const Target &target, const UsualTerms &terms);

/// Sentences on differences of the target from the plan.
std::vector<std::string> notesOn(const Target &target, const UsualTerms &terms);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_TARGET_H
