/// Compiles a program, runs it on its mesh, and holds what comes out against
/// the unsharded program.
#ifndef TPSP_TEST_PROPERTY_TRIAL_H
#define TPSP_TEST_PROPERTY_TRIAL_H

#include "Program.h"

#include "mlir/IR/MLIRContext.h"

namespace tpsp::property {

struct Outcome {
  enum Verdict {
    Agrees,
    Refused, ///< with a diagnostic, as it may be
    Failed   ///< a wrong number, a wrong refusal, no refusal, a crash
  };
  Verdict verdict = Agrees;
  /// What was said or what differs; one line.
  std::string text;

  /// `text` without numbers and names: the kind of a refusal or a failure.
  std::string signature() const;
};

/// Tries programs one after the other, in one context.
class Trial {
public:
  Trial();

  /// `seed`: of the arguments' data.
  Outcome run(const Program &program, uint64_t seed);

private:
  /// `worst`: becomes the largest relative error, if that is what is wrong.
  Outcome runOnce(const Program &program, uint64_t seed, double &worst);

  mlir::MLIRContext context;
};

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_TRIAL_H
