/// Files of tokens, memory-mapped: what a model is trained on.
///
///   TokenFiles files;
///   if (Status s = TokenFiles::open({"train.bin"}, "auto", files); !s.ok())
///     return s;
///   files.read(begin, count, tokens);
///
/// Formats, by name:
///   text      each byte is a token
///   u16, u32  only tokens, little endian (nanoGPT's .bin is u16)
///   npy       NumPy's .npy: one dimension of u8, u16, u32, i32 or i64
///   llmc      llm.c's .bin: 256 words of header, then u16 or u32
///   megatron  Megatron's F.idx and F.bin: documents, read one after the other
#ifndef TPSP_RUNTIME_TRAIN_TOKENFILES_H
#define TPSP_RUNTIME_TRAIN_TOKENFILES_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::train {

/// A memory-mapped file, read-only. The system loads its pages when they are
/// used, so files may be larger than memory.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// Fails, and names the file, if it is not a regular file or cannot be read.
  static rt::Status open(const std::string &path, MappedFile &out);

  const unsigned char *data() const { return bytes; }
  int64_t size() const { return length; }

private:
  void swap(MappedFile &other) noexcept {
    std::swap(bytes, other.bytes);
    std::swap(length, other.length);
  }

  const unsigned char *bytes = nullptr;
  int64_t length = 0;
};

/// The tokens of one file.
struct TokenSpan {
  std::string path;
  /// The file with the positions of documents; empty if there is none.
  std::string indexPath;
  MappedFile file;
  /// The tokens begin at the file's byte `begin`: `count` tokens of `width`
  /// bytes (1, 2, 4 or 8), little endian.
  int64_t begin = 0, count = 0;
  int width = 2;
};

/// The names of the formats. The first is "auto", which decides by the file's
/// name and its first bytes.
std::vector<std::string> tokenFormats();

class TokenFiles {
public:
  /// Opens the files, which are read as one. INVALID, with the file's name, if
  /// it is not of the format or is cut off. INVALID if there are no tokens at
  /// all.
  static rt::Status open(const std::vector<std::string> &paths,
                         const std::string &format, TokenFiles &out);

  /// The number of tokens in all files.
  int64_t size() const { return total; }

  /// Writes the tokens [begin, begin + count), which must exist, to `tokens`.
  /// Thread-safe.
  void read(int64_t begin, int64_t count, int64_t *tokens) const;

  /// How often `token` is among the first `most` tokens.
  int64_t count(int64_t token, int64_t most) const;

  /// The paths of all files that are read, including index files.
  std::vector<std::string> paths() const;

  /// "'train.bin' at token 12", for messages.
  std::string placeOf(int64_t token) const;

private:
  /// The span that holds a token, and the token's number in it.
  std::pair<const TokenSpan *, int64_t> find(int64_t token) const;

  std::vector<TokenSpan> spans;
  int64_t total = 0;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TOKENFILES_H
