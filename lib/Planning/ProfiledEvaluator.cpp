#include "ProfiledEvaluator.h"

#include <utility>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// The formulas, which all evaluators of a search share.
struct Formulas {
  std::shared_ptr<const Profile> profile;
  ProgramFacts facts;
  TermNames names;
  bool hasState = false;
};

class ProfiledEvaluator : public Evaluator {
public:
  ProfiledEvaluator(std::unique_ptr<Evaluator> own,
                    std::shared_ptr<const Formulas> formulas)
      : own(std::move(own)), formulas(std::move(formulas)) {}

  Evaluation evaluate(const Candidate &candidate) override {
    return profiled(own->evaluate(candidate));
  }
  Evaluation evaluateWhole(const Candidate &candidate) override {
    return profiled(own->evaluateWhole(candidate));
  }
  Evaluation evaluateSerially(const Candidate &candidate) override {
    return profiled(own->evaluateSerially(candidate));
  }
  Evaluation evaluateWholeSerially(const Candidate &candidate) override {
    return profiled(own->evaluateWholeSerially(candidate));
  }
  double wholeEffort() const override { return own->wholeEffort(); }

private:
  Evaluation profiled(Evaluation step) const {
    if (!step.isLegal())
      return step;
    auto memory = memoryBy(*formulas->profile, step.candidate, formulas->facts,
                           formulas->names, formulas->hasState);
    if (!memory)
      return step;
    step.memory.profiled = memory->allocated();
    step.memory.profiledReserved = memory->reserved;
    step.memory.total = std::max(step.memory.total, memory->allocated());
    return step;
  }

  std::unique_ptr<Evaluator> own;
  std::shared_ptr<const Formulas> formulas;
};

} // namespace

EvaluatorFactory tpsp::profiledEvaluators(
    EvaluatorFactory makeOwn, std::shared_ptr<const Profile> profile,
    const ProgramFacts &facts, const TermNames &names, bool hasState) {
  auto formulas = std::make_shared<const Formulas>(
      Formulas{std::move(profile), facts, names, hasState});
  return [makeOwn, formulas]() -> std::unique_ptr<Evaluator> {
    return std::make_unique<ProfiledEvaluator>(makeOwn(), formulas);
  };
}
