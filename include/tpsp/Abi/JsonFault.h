/// What keeps a text from being JSON, in a sentence of ours: who wrote the file
/// knows its keys, and not the library that reads it.
#ifndef TPSP_ABI_JSONFAULT_H
#define TPSP_ABI_JSONFAULT_H

#include <string>
#include <string_view>

namespace tpsp {

/// "line 3, column 9, matmul.bf16.peak_tflops: found NaN, which is no JSON
/// value here". The key is the last one that was read, after those that it is
/// in. Empty if the text is JSON.
std::string jsonFault(std::string_view text);

} // namespace tpsp

#endif // TPSP_ABI_JSONFAULT_H
