/// A program's arguments from the dump itself: `param:NAME` for parameters,
/// `act:NAME` for inputs, `cot:NAME` for the gradient of a result.
#ifndef TPSP_CHECK_DUMPEDARGUMENTS_H
#define TPSP_CHECK_DUMPEDARGUMENTS_H

#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Dump.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace tpsp::check {

/// Gives what a dump has, and otherwise what another source gives.
class DumpedArguments final : public rt::TensorSource {
public:
  explicit DumpedArguments(std::unique_ptr<rt::TensorSource> others)
      : others(std::move(others)) {}

  /// Takes the arguments of a plan from a dump, in whatever form it has them.
  rt::Status take(const Plan &plan, const Dump &dump);
  /// The same, and frees the values of arguments of which no rank has a copy.
  /// They cannot differ from what is taken.
  rt::Status takeAndFree(const Plan &plan, Dump &dump);
  /// The titles of the tensors that were given so far as whole arguments:
  /// "param:w1". Those that a file gives in their place are not among them.
  const std::set<std::string> &taken() const { return asked; }
  /// The title under which a dump would have an argument: "param:w1".
  static std::string titleOf(const PlanBuffer &argument);
  /// The titles of arguments that the dump has and that cannot be taken, with
  /// half a sentence that says why.
  const std::map<std::string, std::string> &passedOver() const {
    return leftOut;
  }

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override;
  rt::Status whole(const PlanBuffer &tensor,
                   std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override;

private:
  struct Taken {
    std::string title;
    std::vector<double> whole;
  };
  void take(const PlanBuffer &tensor, const rt::RankMesh &mesh,
            const DumpEntry &entry);
  /// Null if the dump does not give the argument.
  const std::vector<double> *find(const PlanBuffer &tensor) const;

  std::unique_ptr<rt::TensorSource> others;
  /// By the argument's number.
  std::map<int64_t, Taken> values;
  std::map<std::string, std::string> leftOut;
  mutable std::set<std::string> asked;
};

} // namespace tpsp::check

#endif // TPSP_CHECK_DUMPEDARGUMENTS_H
