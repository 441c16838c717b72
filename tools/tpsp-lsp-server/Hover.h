/// The text that an editor shows for the word under the cursor, as Markdown.
#ifndef TPSP_TOOLS_LSP_HOVER_H
#define TPSP_TOOLS_LSP_HOVER_H

#include "Document.h"

namespace tpsp::lsp {

/// On a value: its placement, and the collectives of the line that move it. On
/// an operation or where a value is defined: all collectives of the line. Empty
/// if nothing is known of the word.
std::string hoverText(const Document &document, const SourceWord &word);

/// "[b@dp, s@tp, d] f32, 8 x 64 x 128" for lists of values; "" if unknown.
std::string shortText(const FoundTensor &tensor);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_HOVER_H
