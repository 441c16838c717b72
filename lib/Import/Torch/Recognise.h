/// Finds attention, norms and rotations in the operations that they are written
/// as. Only text and speed depend on it: a program that is not recognised
/// computes the same.
#ifndef TPSP_IMPORT_TORCH_RECOGNISE_H
#define TPSP_IMPORT_TORCH_RECOGNISE_H

#include "Program.h"

namespace tpsp::import::torch {

/// Which operation makes a value, and how often it is used.
class Uses {
public:
  explicit Uses(Program &program);

  /// Null for arguments.
  Operation *maker(ValueId value) const;
  /// The maker, if it is an operation of this name.
  Operation *maker(ValueId value, const char *name) const;
  /// The maker, if nothing else uses the value.
  Operation *only(ValueId value, const char *name) const;
  /// The only operation that uses the value; null if there are several.
  Operation *user(ValueId value) const;
  /// The constant that an argument is; null otherwise.
  const ProgramArgument *constant(ValueId value) const;

private:
  Program &program;
  std::vector<int> makers, counts, users, arguments;
};

/// Adds an operation whose result has the order of indices that `like` has. If
/// the program has another order, a transposition follows.
void addInOrderOf(ValueId like, Program &program, Operation operation,
                  std::vector<Operation> &out);

/// x / sqrt(mean(x^2) + eps) gain becomes rms_norm.
void recogniseNorms(Program &program);
/// A softmax over scores and one more column, which is then cut off, becomes a
/// softmax with a sink.
void recogniseSinks(Program &program);
/// Products, softmax and products again become attention, with its mask, scale,
/// soft-cap and sink.
void recogniseAttention(Program &program);
/// x cos + turned(x) sin becomes rope, if the tables are those of rope.
void recogniseRotations(Program &program);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_RECOGNISE_H
