#include "tpsp/Dialect/Tpsp/IR/ModelText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <filesystem>

using namespace tpsp;
using llvm::StringRef;

namespace {

enum class Token {
  End,
  Open,    ///< ( [ { <
  Close,   ///< ) ] } >
  Sign,    ///< of an affine expression: + - * mod floordiv ceildiv
  Comma,   ///< ends an expression
  Joint,   ///< : = ->, after which an attribute or a type goes on
  Name,    ///< #name or !name
  Word,    ///< any other word, string or number
  Neither, ///< any other character
};

/// Splits text into MLIR's tokens, as far as nesting depends on them.
class Tokens {
public:
  explicit Tokens(StringRef text) : rest(text) {}

  Token next() {
    skipSpace();
    if (rest.empty())
      return Token::End;
    char first = rest.front();
    if (llvm::isAlpha(first) || first == '_')
      return word();
    if (llvm::isDigit(first))
      return number();
    switch (first) {
    case '"':
      return string();
    case '#':
    case '!':
      return prefixed(Token::Name);
    case '%':
    case '^':
    case '@':
      return prefixed(Token::Word);
    default:
      return punctuation();
    }
  }

  StringRef text() const { return token; }
  const char *position() const { return token.data(); }
  /// Whether a colon and a number follow, as after the file of a location:
  /// "model.mlir":12:8.
  bool isNumbered() const {
    StringRef after = rest.ltrim();
    if (!after.consume_front(":"))
      return false;
    after = after.ltrim();
    return !after.empty() && llvm::isDigit(after.front());
  }
  /// Whether the following text defines the token: '#name = ...'.
  bool isDefined() {
    skipSpace();
    return rest.starts_with("=");
  }

private:
  void skipSpace() {
    while (true) {
      rest = rest.ltrim();
      if (!rest.starts_with("//"))
        return;
      rest = rest.substr(rest.find('\n'));
    }
  }

  Token take(size_t length, Token kind) {
    token = rest.take_front(length);
    rest = rest.drop_front(token.size());
    return kind;
  }

  Token word() {
    take(spanOf(rest, "_$."), Token::Word);
    bool isSign = token == "mod" || token == "floordiv" || token == "ceildiv";
    return isSign ? Token::Sign : Token::Word;
  }

  /// Includes an exponent's sign, which is not a sign of an expression.
  Token number() {
    size_t length = spanOf(rest, ".");
    bool isScientific = (rest[length - 1] == 'e' || rest[length - 1] == 'E') &&
                        length < rest.size() &&
                        (rest[length] == '+' || rest[length] == '-');
    return take(isScientific ? length + 1 : length, Token::Word);
  }

  Token string() {
    size_t end = 1;
    while (end < rest.size() && rest[end] != '"' && rest[end] != '\n')
      end += rest[end] == '\\' ? 2 : 1;
    return take(end + 1, Token::Word);
  }

  Token prefixed(Token kind) {
    return take(1 + spanOf(rest.drop_front(), "_$.-"), kind);
  }

  Token punctuation() {
    if (rest.starts_with("->"))
      return take(2, Token::Joint);
    if (rest.starts_with("<=") || rest.starts_with(">="))
      return take(2, Token::Neither);
    switch (rest.front()) {
    case '(':
    case '[':
    case '{':
    case '<':
      return take(1, Token::Open);
    case ')':
    case ']':
    case '}':
    case '>':
      return take(1, Token::Close);
    case '+':
    case '-':
    case '*':
      return take(1, Token::Sign);
    case ',':
      return take(1, Token::Comma);
    case ':':
    case '=':
      return take(1, Token::Joint);
    default:
      return take(1, Token::Neither);
    }
  }

  /// The length of the letters, digits and `others` that `text` begins with.
  static size_t spanOf(StringRef text, StringRef others) {
    return text
        .take_while(
            [&](char c) { return llvm::isAlnum(c) || others.contains(c); })
        .size();
  }

  StringRef rest, token;
};

/// Tracks the nesting of a file's tokens and finds the first that is too deep.
class Nesting {
public:
  explicit Nesting(StringRef text) : tokens(text) {}

  /// The place of the first token that is too deep; null if there is none.
  const char *tooDeep() {
    for (Token token = tokens.next(); token != Token::End;
         token = tokens.next()) {
      visit(token);
      if (depth + depthOfName > maxNesting)
        return tokens.position();
    }
    return nullptr;
  }

private:
  /// A bracket that is open, and the signs in it since the last comma.
  struct Level {
    char bracket;
    unsigned signs = 0;
  };

  void visit(Token token) {
    depthOfName = 0;
    if (open.empty())
      visitOutside(token);
    if (token == Token::Open) {
      open.push_back({tokens.text().front()});
      ++depth;
    } else if (token == Token::Close) {
      close(tokens.text().front());
    } else if (token == Token::Sign && !open.empty() &&
               open.back().bracket != '{') {
      ++open.back().signs;
      ++depth;
    } else if (token == Token::Comma && !open.empty()) {
      forgetSigns();
    } else if (token == Token::Name) {
      depthOfName = depths.lookup(tokens.text());
    }
    deepest = std::max(deepest, depth + depthOfName);
  }

  /// Handles tokens outside brackets, which begin and end definitions of names.
  void visitOutside(Token token) {
    bool isWord = token == Token::Word || token == Token::Name;
    if (isWord && !isJoined) {
      if (!defined.empty())
        depths[defined] = deepest;
      defined = StringRef();
      if (token == Token::Name && tokens.isDefined()) {
        defined = tokens.text();
        deepest = 0;
      }
    }
    isJoined = token == Token::Joint || token == Token::Sign;
  }

  /// Ignores a bracket that closes nothing: it is another token, or the
  /// parser's error.
  void close(char bracket) {
    if (open.empty() || closes(bracket) != open.back().bracket)
      return;
    forgetSigns();
    open.pop_back();
    --depth;
  }

  void forgetSigns() {
    depth -= open.back().signs;
    open.back().signs = 0;
  }

  static char closes(char bracket) {
    return StringRef("([{<")[StringRef(")]}>").find(bracket)];
  }

  Tokens tokens;
  llvm::SmallVector<Level, 16> open;
  unsigned depth = 0, depthOfName = 0;
  /// The nesting depth of each name's definition.
  llvm::StringMap<unsigned> depths;
  /// The name whose definition is being read, and its depth so far.
  StringRef defined;
  unsigned deepest = 0;
  bool isJoined = false;
};

/// The content of a string, without quotes and with MLIR's escapes (\2F)
/// decoded.
std::string contentOf(StringRef quoted) {
  std::string content;
  StringRef rest = quoted.drop_front().drop_back();
  while (!rest.empty()) {
    bool isHex = rest.size() > 2 && rest[0] == '\\' &&
                 llvm::isHexDigit(rest[1]) && llvm::isHexDigit(rest[2]);
    content += isHex ? char(llvm::hexFromNibbles(rest[1], rest[2])) : rest[0];
    rest = rest.drop_front(isHex ? 3 : 1);
  }
  return content;
}

/// Whether the path is a pipe, a device or a socket.
bool isIrregular(const std::string &path) {
  std::error_code none;
  return std::filesystem::is_other(std::filesystem::status(path, none));
}

/// The first token that names a file for a location, if that file is a pipe, a
/// device or a socket. MLIR would read the file to show its line in a message.
/// Null if there is none.
const char *irregularSource(StringRef text) {
  llvm::StringSet<> seen;
  Tokens tokens(text);
  for (Token token = tokens.next(); token != Token::End; token = tokens.next())
    if (tokens.text().starts_with("\"") && tokens.isNumbered() &&
        seen.insert(tokens.text()).second &&
        isIrregular(contentOf(tokens.text())))
      return tokens.position();
  return nullptr;
}

} // namespace

static std::string placeIn(StringRef text, const char *position) {
  StringRef before = text.take_front(position - text.data());
  return llvm::formatv("{0}:{1}", before.count('\n') + 1,
                       before.size() - (before.rfind('\n') + 1) + 1);
}

llvm::Error tpsp::checkModelText(StringRef path, StringRef text,
                                 StringRef splitMarker) {
  auto refuse = [](const auto &message) {
    return llvm::createStringError(llvm::Twine(message.str()));
  };
  if (mlir::isBytecode(llvm::MemoryBufferRef(text, path)))
    return refuse(llvm::formatv(
        "'{0}' is MLIR bytecode, and tpsp reads text; write it again without "
        "--emit-bytecode",
        path));
  // The parser would print the line on which it fails.
  if (text.contains('\0'))
    return refuse(llvm::formatv("'{0}' is no text, which a model is", path));
  StringRef part, rest = text;
  while (!rest.empty()) {
    std::tie(part, rest) = splitMarker.empty() ? std::pair(rest, StringRef())
                                               : rest.split(splitMarker);
    if (const char *position = Nesting(part).tooDeep())
      return refuse(llvm::formatv(
          "{0}:{1}: error: brackets, operators and aliases nest more than "
          "{2} deep here; close an open bracket, or nest less",
          path, placeIn(text, position), maxNesting));
  }
  if (const char *position = irregularSource(text))
    return refuse(llvm::formatv(
        "{0}:{1}: error: a location names a file here that is not a regular "
        "file, and messages would show its line; name the source, or leave the "
        "location out",
        path, placeIn(text, position)));
  return llvm::Error::success();
}
