// The formats of token files.
#ifndef TPSP_RUNTIME_TRAIN_TOKENFORMATS_H
#define TPSP_RUNTIME_TRAIN_TOKENFORMATS_H

#include "tpsp/Runtime/Train/TokenFiles.h"

namespace tpsp::train {

/// Opens one file of a format of tokenFormats(). Fails, and names the file, if
/// it is not of that format.
rt::Status openTokens(const std::string &path, const std::string &format,
                      TokenSpan &out);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TOKENFORMATS_H
