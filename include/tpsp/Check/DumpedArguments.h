/// A program's arguments from the dump itself: `param:NAME` for parameters,
/// `act:NAME` for inputs, `cot:NAME` for the gradient of a result.
#ifndef TPSP_CHECK_DUMPEDARGUMENTS_H
#define TPSP_CHECK_DUMPEDARGUMENTS_H

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

  /// Takes the arguments of a plan from a dump. A tensor that the ranks do not
  /// hold in the program's parts, or whole, is passed over.
  rt::Status take(const Plan &plan, const Dump &dump);
  /// The titles of the tensors that were taken: "param:w1".
  const std::set<std::string> &taken() const { return titles; }

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override;
  rt::Status whole(const PlanBuffer &tensor,
                   std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override;

private:
  std::unique_ptr<rt::TensorSource> others;
  /// Whole tensors, by the argument's number.
  std::map<int64_t, std::vector<double>> values;
  std::set<std::string> titles;
};

} // namespace tpsp::check

#endif // TPSP_CHECK_DUMPEDARGUMENTS_H
