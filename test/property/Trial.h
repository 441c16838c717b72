/// Compiles a program, runs it on its mesh, and compares its results with the
/// unsharded program.
#ifndef TPSP_TEST_PROPERTY_TRIAL_H
#define TPSP_TEST_PROPERTY_TRIAL_H

#include "Program.h"

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace tpsp::property {

struct Outcome {
  enum Verdict {
    Agrees,
    Refused, ///< with a diagnostic, as it may be
    Failed   ///< a wrong number, a wrong refusal, no refusal, a crash
  };
  Verdict verdict = Agrees;
  /// A line: the message or the difference. If the program agrees, one of the
  /// two texts below, to be counted, or nothing.
  std::string text;
  static constexpr const char *losesDigits = "loses digits";
  /// It ran on several streams, and on one stream gave the same bits (or the
  /// same within the tolerance, if products were cut).
  static constexpr const char *overlapped = "overlapped";

  /// `text` without numbers and names: the kind of a refusal or a failure.
  std::string signature() const;
};

/// Tries programs one after the other, in one context.
class Trial {
public:
  Trial();

  /// Tries a program. `seed` decides the arguments' data.
  Outcome run(const Program &program, uint64_t seed);

  /// The same with a mistake: the gradients by the adjoints of all operations
  /// `mnemonic` are tripled. Sets `planted` to the number of places.
  Outcome runWithWrongAdjoint(const Program &program, uint64_t seed,
                              const std::string &mnemonic, unsigned &planted);

  /// The same with every result multiplied by `factor` when it is compared.
  /// Sets `errors` to the comparisons' results, in the order of the plan; empty
  /// if the program did not run.
  Outcome runWithPlantedResults(const Program &program, uint64_t seed,
                                double factor,
                                std::vector<rt::TensorError> &errors);

private:
  struct Run;
  /// Mistakes to plant in a program, and where to report them.
  struct Mistakes {
    /// See CompileOptions; may be null.
    std::function<void(mlir::ModuleOp)> edit = {};
    rt::PlantedMistake planted = {};
    /// Set to the comparisons' results if it is not null.
    std::vector<rt::TensorError> *errors = nullptr;
  };
  /// Compiles and runs the program again on one stream, and compares the
  /// results with those of `overlapped`, bit for bit.
  Outcome runSerial(mlir::OwningOpRef<mlir::ModuleOp> written,
                    const Run &overlapped);
  mlir::OwningOpRef<mlir::ModuleOp> parse(const Program &program);
  Outcome runOnce(const Program &program, uint64_t seed,
                  const Mistakes &mistakes);
  Outcome runOnce(const Program &program, uint64_t seed) {
    return runOnce(program, seed, Mistakes());
  }

  mlir::MLIRContext context;
};

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_TRIAL_H
