// A format is a row of the table, with a function that finds the tokens in a
// mapped file. Everything read from a file is checked.
#include "TokenFormats.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/Npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace fs = std::filesystem;

static Status bad(const std::string &path, const std::string &what) {
  return invalid("'{}' {}", path, what);
}

/// The number at a byte of a file, which must be long enough.
template <typename T> static T numberAt(const MappedFile &file, int64_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

/// Sets the span to tokens of `width` bytes up to the file's end.
static Status restOfFile(int width, TokenSpan &span) {
  int64_t bytes = span.file.size() - span.begin;
  if (bytes % width != 0)
    return bad(span.path, fmt::format("has {} bytes of tokens, which is no "
                                      "multiple of {}: it is cut off, or of "
                                      "another format (--data-format)",
                                      bytes, width));
  span.width = width;
  span.count = bytes / width;
  return {};
}

static Status openText(TokenSpan &span) { return restOfFile(1, span); }
static Status openU16(TokenSpan &span) { return restOfFile(2, span); }
static Status openU32(TokenSpan &span) { return restOfFile(4, span); }

//===----------------------------------------------------------------------===//
// NumPy
//===----------------------------------------------------------------------===//

/// Bytes of a token of this type; 0 if tokens cannot have it.
static int npyWidth(const std::string &type) {
  constexpr std::pair<const char *, int> widths[] = {
      {"|u1", 1}, {"<u2", 2}, {"<u4", 4}, {"<i4", 4}, {"<i8", 8}};
  for (auto [name, width] : widths)
    if (type == name)
      return width;
  return 0;
}

static Status readNpy(TokenSpan &span) {
  FileHandle file;
  NpyHeader header;
  int64_t bytes = 0;
  TPSP_TRY(openToRead(span.path, file, bytes));
  TPSP_TRY(readNpyHeader(file, bytes, header));
  span.begin = header.begin;
  span.width = npyWidth(header.type);
  if (span.width == 0)
    return unknownNpyType(header.type, "tokens are '<u2', '<u4', '<i4', '<i8' "
                                       "or '|u1'");
  if (header.shape.size() != 1)
    return invalid("it has shape [{}]; tokens have one dimension "
                   "(numpy.ravel)",
                   fmt::join(header.shape, ", "));
  span.count = header.shape[0];
  int64_t behind = span.file.size() - span.begin;
  if (behind % span.width == 0 && span.count == behind / span.width)
    return {};
  return invalid("its header says {} tokens of {} bytes, and {} bytes "
                 "follow",
                 span.count, span.width, behind);
}

static Status openNpy(TokenSpan &span) {
  Status status = readNpy(span);
  return status.ok()
             ? status
             : Status(status.code(), fmt::format("cannot read '{}': {}",
                                                 span.path, status.message()));
}

//===----------------------------------------------------------------------===//
// llm.c
//===----------------------------------------------------------------------===//

static constexpr int64_t llmcHeaderBytes = 256 * 4;
/// Bytes of a token by the magic number, which is GPT-2's or Llama 3's. 0 if
/// the file does not begin with one. The header may be incomplete.
static int llmcWidth(const MappedFile &file) {
  if (file.size() < 4)
    return 0;
  int32_t magic = numberAt<int32_t>(file, 0);
  return magic == 20240520 ? 2 : magic == 20240801 ? 4 : 0;
}

static Status openLlmc(TokenSpan &span) {
  int width = llmcWidth(span.file);
  if (width == 0)
    return bad(span.path, "does not begin as llm.c's files do");
  if (span.file.size() < llmcHeaderBytes)
    return bad(span.path,
               fmt::format("begins as llm.c's files do, and is cut off: it has "
                           "{} bytes, and their header has {}",
                           span.file.size(), llmcHeaderBytes));
  span.begin = llmcHeaderBytes;
  TPSP_TRY(restOfFile(width, span));
  int64_t said = numberAt<int32_t>(span.file, 8);
  if (said != span.count)
    return bad(span.path, fmt::format("has {} tokens, and its header says {}",
                                      span.count, said));
  return {};
}

//===----------------------------------------------------------------------===//
// Megatron
//===----------------------------------------------------------------------===//

static constexpr char megatronMagic[] = "MMIDIDX\0";
static constexpr int64_t megatronHeaderBytes = 9 + 8 + 1 + 8 + 8;

static bool isMegatronIndex(const MappedFile &file) {
  return file.size() >= megatronHeaderBytes &&
         std::memcmp(file.data(), megatronMagic, 9) == 0;
}

/// Bytes of a token, by the index's code for its type; 0 if tokens cannot have
/// this type.
static int megatronWidth(int code) {
  switch (code) {
  case 1: // uint8
    return 1;
  case 3: // int16
  case 8: // uint16
    return 2;
  case 4: // int32
    return 4;
  case 5: // int64
    return 8;
  }
  return 0;
}

/// Checks that the index's sequences follow each other, and returns the bytes
/// of all of them, or -1.
static int64_t sequenceBytes(const MappedFile &index, int64_t sequences,
                             int width) {
  int64_t sizes = megatronHeaderBytes, pointers = sizes + 4 * sequences;
  int64_t end = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    int64_t size = numberAt<int32_t>(index, sizes + 4 * i);
    if (size < 0 || numberAt<int64_t>(index, pointers + 8 * i) != end)
      return -1;
    end += size * width;
  }
  return end;
}

static Status openMegatron(TokenSpan &span) {
  fs::path indexPath = fs::path(span.path).replace_extension(".idx");
  fs::path tokenPath = fs::path(span.path).replace_extension(".bin");
  MappedFile index;
  TPSP_TRY(MappedFile::open(indexPath.string(), index));
  if (!isMegatronIndex(index))
    return bad(indexPath.string(), "does not begin as Megatron's indices do");
  int width = megatronWidth(index.data()[17]);
  if (width == 0)
    return bad(indexPath.string(),
               fmt::format("says that tokens are of type {}, which is none of "
                           "u8, i16, u16, i32 and i64",
                           int(index.data()[17])));
  int64_t sequences = numberAt<int64_t>(index, 18);
  if (sequences < 0 ||
      sequences > (index.size() - megatronHeaderBytes) / (4 + 8))
    return bad(
        indexPath.string(),
        fmt::format("is cut off: it says that it has {} sequences", sequences));
  TPSP_TRY(MappedFile::open(tokenPath.string(), span.file));
  int64_t bytes = sequenceBytes(index, sequences, width);
  if (bytes < 0)
    return bad(indexPath.string(),
               "has sequences that do not follow each other; write it again "
               "with Megatron's tools");
  if (bytes > span.file.size())
    return bad(tokenPath.string(),
               fmt::format("has {} bytes, and its index says {}",
                           span.file.size(), bytes));
  span.path = tokenPath.string();
  span.indexPath = indexPath.string();
  span.width = width;
  span.count = bytes / width;
  return {};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

struct TokenFormat {
  const char *name;
  Status (*open)(TokenSpan &span);
};

} // namespace

static constexpr TokenFormat formats[] = {
    {"text", openText}, {"u16", openU16}, {"u32", openU32},
    {"llmc", openLlmc}, {"npy", openNpy}, {"megatron", openMegatron}};

std::vector<std::string> tpsp::train::tokenFormats() {
  std::vector<std::string> names = {"auto"};
  for (const TokenFormat &format : formats)
    names.push_back(format.name);
  return names;
}

/// Guesses the format by the file's name and first bytes. A .npy is "npy"; an
/// .idx, or a .bin with an .idx in the same folder, is "megatron". Other .bin
/// files are "llmc" if they have its header, otherwise "u16". Everything else
/// is text.
static std::string guessFormat(const TokenSpan &span) {
  fs::path path(span.path);
  std::error_code none;
  if (path.extension() == ".idx")
    return "megatron";
  if (path.extension() == ".npy")
    return "npy";
  if (path.extension() != ".bin")
    return "text";
  if (fs::exists(fs::path(path).replace_extension(".idx"), none))
    return "megatron";
  return llmcWidth(span.file) > 0 ? "llmc" : "u16";
}

/// Bytes of the UTF-8 character that begins with this byte. 0 if none does, and
/// for a zero byte, which a text does not have.
static int64_t characterBytes(unsigned char byte) {
  if (byte < 0x80)
    return byte > 0;
  if (byte < 0xC2 || byte > 0xF4)
    return 0;
  return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Checks that a file taken for text by its name begins like text.
static Status checkText(const TokenSpan &span) {
  constexpr int64_t begin = 1 << 16;
  const unsigned char *bytes = span.file.data();
  int64_t size = std::min(begin, span.file.size());
  for (int64_t at = 0; at < size;) {
    int64_t length = characterBytes(bytes[at]);
    if (at + length > span.file.size())
      length = 0;
    for (int64_t i = 1; i < length && at + i < size; ++i)
      if ((bytes[at + i] & 0xC0) != 0x80)
        length = 0;
    if (length == 0)
      return bad(span.path,
                 fmt::format("is no text: its byte {} is {:#04x}, which UTF-8 "
                             "has not there; say what it is with --data-format "
                             "(of {}; text: a token a byte, whatever they are)",
                             at, bytes[at], fmt::join(tokenFormats(), ", ")));
    at += length;
  }
  return {};
}

Status tpsp::train::openTokens(const std::string &path,
                               const std::string &given, TokenSpan &out) {
  TokenSpan span;
  span.path = path;
  TPSP_TRY(MappedFile::open(path, span.file));
  std::string name = given == "auto" ? guessFormat(span) : given;
  if (given == "auto" && name == "text")
    TPSP_TRY(checkText(span));
  for (const TokenFormat &format : formats) {
    if (name != format.name)
      continue;
    TPSP_TRY(format.open(span));
    out = std::move(span);
    return {};
  }
  return invalid("no format of tokens is called '{}'; there are {}", given,
                 fmt::join(tokenFormats(), ", "));
}
