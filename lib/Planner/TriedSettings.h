/// The settings of a candidate without stages that were evaluated, and the
/// least time that the other settings may take.
#ifndef TPSP_LIB_PLANNER_TRIEDSETTINGS_H
#define TPSP_LIB_PLANNER_TRIEDSETTINGS_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planner/Search.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace tpsp::planner {

/// Assumes that a program which rematerialises more, or has more micro-batches,
/// computes and communicates for at least 0.95 of the time.
class TriedSettings {
public:
  /// Both references must outlive this object.
  TriedSettings(llvm::ArrayRef<Settings> all, const SearchOptions &options)
      : all(all), options(options) {}

  /// Adds a legal evaluation. Its settings need not be among `all`.
  void add(const Evaluation &evaluation);

  /// The least seconds of a step with any of the settings that may fit. 0 if
  /// that is not known, and infinite if none of them may fit.
  double leastSeconds() const;

private:
  struct Tried {
    Settings settings;
    double seconds = 0;
    bool mayFit = false;
  };

  double leastOf(const Settings &settings) const;

  const llvm::ArrayRef<Settings> all;
  const SearchOptions &options;
  std::vector<Tried> tried;
};

} // namespace tpsp::planner

#endif // TPSP_LIB_PLANNER_TRIEDSETTINGS_H
