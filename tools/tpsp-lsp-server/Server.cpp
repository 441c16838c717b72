#include "Server.h"

#include "Completion.h"
#include "Document.h"
#include "Hover.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/LSP/Protocol.h"

#include <map>

using namespace llvm::lsp;
using namespace tpsp;
using namespace tpsp::lsp;
using llvm::StringRef;

/// The number of bytes of a character that begins with `first`.
static unsigned bytesOfCharacter(char first) {
  return std::max(1u, llvm::getNumBytesForUTF8(llvm::UTF8(first)));
}

/// Editors count UTF-16 units: characters of four bytes are two.
static unsigned unitsOfCharacter(unsigned bytes) { return bytes == 4 ? 2 : 1; }

/// The byte of a line at a column of UTF-16 units.
static unsigned byteAt(StringRef line, unsigned column) {
  unsigned byte = 0;
  for (unsigned units = 0; units < column && byte < line.size();) {
    unsigned bytes = bytesOfCharacter(line[byte]);
    units += unitsOfCharacter(bytes);
    byte += bytes;
  }
  return std::min<unsigned>(byte, line.size());
}

/// The column, in UTF-16 units, of a byte of a line.
static int columnAt(StringRef line, unsigned byte) {
  int units = 0;
  for (unsigned at = 0; at < byte && at < line.size();) {
    unsigned bytes = bytesOfCharacter(line[at]);
    units += unitsOfCharacter(bytes);
    at += bytes;
  }
  return units;
}

static Range rangeOf(const SourceText &text, const SourceWord &word) {
  StringRef line = text.line(word.line);
  return Range(Position(word.line, columnAt(line, word.begin)),
               Position(word.line, columnAt(line, word.end)));
}

/// The range of a problem: the word at its place, or the place.
static Range rangeOf(const SourceText &text, const Problem &problem) {
  if (problem.line == 0)
    return Range(Position(0, 0));
  unsigned line = problem.line - 1, byte = std::max(problem.column, 1u) - 1;
  if (const SourceWord *word = text.wordAt(line, byte))
    return rangeOf(text, *word);
  return Range(Position(line, columnAt(text.line(line), byte)));
}

static Diagnostic diagnosticOf(const SourceText &text, const Problem &problem) {
  Diagnostic diagnostic;
  diagnostic.range = rangeOf(text, problem);
  diagnostic.severity =
      problem.isError ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning;
  diagnostic.source = "tpsp";
  diagnostic.message = problem.message;
  return diagnostic;
}

/// Where the word is defined, and used. The first is its definition.
static std::vector<const SourceWord *> placesOf(const SourceText &text,
                                                const SourceWord &word) {
  if (word.kind == SourceWord::Value)
    return text.placesOf(word.bare(), word.line);
  return word.kind == SourceWord::Symbol ? text.placesOfSymbol(word.bare())
                                         : std::vector<const SourceWord *>();
}

namespace {

class Server {
public:
  explicit Server(MessageHandler &handler)
      : publish(handler.outgoingNotification<PublishDiagnosticsParams>(
            "textDocument/publishDiagnostics")) {
    handler.method("initialize", this, &Server::onInitialize);
    handler.notification("initialized", this, &Server::onInitialized);
    handler.method("shutdown", this, &Server::onShutdown);
    handler.notification("textDocument/didOpen", this, &Server::onOpen);
    handler.notification("textDocument/didChange", this, &Server::onChange);
    handler.notification("textDocument/didClose", this, &Server::onClose);
    handler.method("textDocument/hover", this, &Server::onHover);
    handler.method("textDocument/completion", this, &Server::onCompletion);
    handler.method("textDocument/definition", this, &Server::onDefinition);
    handler.method("textDocument/references", this, &Server::onReferences);
    handler.method("textDocument/documentSymbol", this, &Server::onSymbols);
  }

  bool wasShutDown() const { return isShutDown; }

private:
  void onInitialize(const InitializeParams &,
                    Callback<llvm::json::Value> reply) {
    llvm::json::Object completion{
        {"triggerCharacters", {"%", "@", "[", "{", "\"", "="}}};
    llvm::json::Object capabilities{
        {"textDocumentSync",
         llvm::json::Object{{"openClose", true}, {"change", 2}}},
        {"hoverProvider", true},
        {"completionProvider", std::move(completion)},
        {"definitionProvider", true},
        {"referencesProvider", true},
        {"documentSymbolProvider", true}};
    reply(llvm::json::Object{
        {"serverInfo", llvm::json::Object{{"name", "tpsp-lsp-server"},
                                          {"version", TPSP_VERSION}}},
        {"capabilities", std::move(capabilities)}});
  }
  void onInitialized(const NoParams &) {}
  void onShutdown(const NoParams &, Callback<std::nullptr_t> reply) {
    isShutDown = true;
    reply(nullptr);
  }

  void onOpen(const DidOpenTextDocumentParams &params) {
    const TextDocumentItem &item = params.textDocument;
    std::string path = item.uri.file().str();
    documents.erase(path);
    documents.emplace(path, Document(path, item.text));
    report(item.uri, item.version);
  }
  void onChange(const DidChangeTextDocumentParams &params) {
    Document *document = find(params.textDocument.uri);
    if (!document)
      return;
    std::string text = document->text().text();
    if (failed(TextDocumentContentChangeEvent::applyTo(params.contentChanges,
                                                       text)))
      return Logger::error("{0}: a change is of no place in the text",
                           params.textDocument.uri.file());
    document->update(std::move(text));
    report(params.textDocument.uri, params.textDocument.version);
  }
  void onClose(const DidCloseTextDocumentParams &params) {
    documents.erase(params.textDocument.uri.file().str());
    publish(PublishDiagnosticsParams(params.textDocument.uri, 0));
  }
  void report(const URIForFile &uri, int64_t version) {
    PublishDiagnosticsParams params(uri, version);
    const Document &document = *find(uri);
    for (const Problem &problem : document.problems())
      params.diagnostics.push_back(diagnosticOf(document.text(), problem));
    publish(params);
  }

  void onHover(const TextDocumentPositionParams &params,
               Callback<std::optional<Hover>> reply) {
    Document *document = find(params.textDocument.uri);
    const SourceWord *word = wordAt(document, params.position);
    std::string text = word ? hoverText(*document, *word) : "";
    if (text.empty())
      return reply(std::nullopt);
    Hover hover(rangeOf(document->text(), *word));
    hover.contents.value = std::move(text);
    reply(hover);
  }
  void onCompletion(const CompletionParams &params,
                    Callback<CompletionList> reply) {
    CompletionList list;
    if (Document *document = find(params.textDocument.uri)) {
      unsigned line = params.position.line;
      list.items = completionsAt(
          *document, line,
          byteAt(document->text().line(line), params.position.character));
    }
    reply(list);
  }
  void onDefinition(const TextDocumentPositionParams &params,
                    Callback<std::vector<Location>> reply) {
    reply(locations(params, /*isDefinition=*/true));
  }
  void onReferences(const ReferenceParams &params,
                    Callback<std::vector<Location>> reply) {
    reply(locations(params, /*isDefinition=*/false));
  }
  std::vector<Location> locations(const TextDocumentPositionParams &params,
                                  bool isDefinition) {
    std::vector<Location> found;
    Document *document = find(params.textDocument.uri);
    const SourceWord *word = wordAt(document, params.position);
    if (!word)
      return found;
    for (const SourceWord *place : placesOf(document->text(), *word)) {
      found.emplace_back(params.textDocument.uri,
                         rangeOf(document->text(), *place));
      if (isDefinition)
        break;
    }
    return found;
  }
  void onSymbols(const DocumentSymbolParams &params,
                 Callback<std::vector<DocumentSymbol>> reply) {
    std::vector<DocumentSymbol> symbols;
    if (Document *document = find(params.textDocument.uri)) {
      const SourceText &text = document->text();
      for (const SourceFunction &function : text.functions())
        symbols.emplace_back("@" + function.name, SymbolKind::Function,
                             Range(Position(function.firstLine, 0),
                                   Position(function.lastLine + 1, 0)),
                             rangeOf(text, text.words()[function.nameWord]));
    }
    reply(std::move(symbols));
  }

  Document *find(const URIForFile &uri) {
    auto found = documents.find(uri.file().str());
    return found == documents.end() ? nullptr : &found->second;
  }
  static const SourceWord *wordAt(const Document *document, Position position) {
    if (!document || position.line < 0 || position.character < 0)
      return nullptr;
    const SourceText &text = document->text();
    return text.wordAt(position.line,
                       byteAt(text.line(position.line), position.character));
  }

  OutgoingNotification<PublishDiagnosticsParams> publish;
  /// By the path that their URI has.
  std::map<std::string, Document> documents;
  bool isShutDown = false;
};

} // namespace

llvm::Error tpsp::lsp::serve(JSONTransport &transport) {
  // Editors have such names for texts that are in no file, and tests do.
  for (StringRef scheme : {"untitled", "test"})
    URIForFile::registerSupportedScheme(scheme);
  MessageHandler handler(transport);
  Server server(handler);
  llvm::Error problem = transport.run(handler);
  if (server.wasShutDown())
    return problem;
  llvm::consumeError(std::move(problem));
  return llvm::createStringError(
      "the input ended before the editor said 'shutdown'");
}
