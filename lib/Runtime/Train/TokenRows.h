/// Fills rows of arguments that are made of tokens.
#ifndef TPSP_RUNTIME_TRAIN_TOKENROWS_H
#define TPSP_RUNTIME_TRAIN_TOKENROWS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

#include <optional>

namespace tpsp::train {

/// Writes one argument's integers. Holds references to the files and the
/// argument, which must outlive it. Allocates nothing.
class TokenRows {
public:
  /// `separator`: DataFiles::separator. `memory`: a rank's part of the
  /// argument.
  TokenRows(const TokenFiles &tokens, std::optional<int64_t> separator,
            const PlanBuffer &tensor, void *memory)
      : tokens(tokens), separator(separator), tensor(tensor), memory(memory) {}

  /// Writes `count` elements of a row from column `column` on, as elements
  /// `local` on of the memory. `begin` is the place of the row's first token
  /// among the files' tokens. INVALID, with its place, for a token that is out
  /// of the argument's range; the elements are written nevertheless.
  rt::Status fill(int64_t begin, int64_t column, int64_t count, int64_t local);

private:
  rt::Status fillTokens(int64_t begin, int64_t count, int64_t local);
  rt::Status fillDocuments(int64_t begin, int64_t column, int64_t count,
                           int64_t local);
  rt::Status store(int64_t value, int64_t place, int64_t local);

  const TokenFiles &tokens;
  const std::optional<int64_t> separator;
  const PlanBuffer &tensor;
  void *memory;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TOKENROWS_H
