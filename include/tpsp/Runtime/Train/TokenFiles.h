/// Files of tokens, memory-mapped: what a model is trained on.
///
///   TokenFiles files;
///   if (Status s = TokenFiles::open({"train.bin"}, "auto", files); !s.ok())
///     return s;
///   files.read(begin, count, tokens);
///
/// Formats, by name:
///   text      a token a byte
///   u16, u32  nothing but tokens, little endian (nanoGPT's .bin is u16)
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

/// A file in memory, read-only and unread until it is used. The pages are the
/// system's: files may be larger than memory.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// Fails, and names the file, for what is no regular file or cannot be read.
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
  /// The file that says where its documents are; empty: there is none.
  std::string indexPath;
  MappedFile file;
  /// From the file's byte `begin` on, `count` tokens of `width` bytes (1, 2, 4
  /// or 8), little endian.
  int64_t begin = 0, count = 0;
  int width = 2;
};

/// The names of the formats, "auto" first: by the file's name and its first
/// bytes.
std::vector<std::string> tokenFormats();

class TokenFiles {
public:
  /// Opens the files, which are read as one. INVALID, with the file's name, for
  /// what is not of the format, or is cut off; and for no token at all.
  static rt::Status open(const std::vector<std::string> &paths,
                         const std::string &format, TokenFiles &out);

  /// Tokens of all files.
  int64_t size() const { return total; }

  /// Writes the tokens [begin, begin + count), which there are. Thread-safe.
  void read(int64_t begin, int64_t count, int64_t *tokens) const;

  /// The paths of all files that are read, indices among them.
  std::vector<std::string> paths() const;

  /// "'train.bin' at token 12", for messages.
  std::string placeOf(int64_t token) const;

private:
  /// The span of a token, and its number there.
  std::pair<const TokenSpan *, int64_t> find(int64_t token) const;

  std::vector<TokenSpan> spans;
  int64_t total = 0;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TOKENFILES_H
