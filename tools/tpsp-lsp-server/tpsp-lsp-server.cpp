// tpsp-lsp-server: what an editor shows of a program, over the language server
// protocol: errors, placements, collectives, completion.
#include "Server.h"

#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace tpsp;

static constexpr const char *footer = R"(An editor starts it:
  Neovim   vim.lsp.config("tpsp", { cmd = { "tpsp-lsp-server" }, ... })
  VS Code  "mlir.server_path": "tpsp-lsp-server"
docs/Debugging.md has the rest.

Exit status: 0 the editor said shutdown and exit, 1 it did not, 2 wrong usage.)";

int main(int argc, char **argv) {
  bool isTest = false, isLogged = false;
  CLI::App app("Tells an editor about sharded einsum programs, by the language "
               "server protocol on standard input and output.");
  app.footer(footer);
  app.set_version_flag("--version", "tpsp-lsp-server " TPSP_VERSION);
  app.add_flag("--lit-test", isTest,
               "For tests: messages are separated by lines '// -----', and "
               "answers are indented");
  app.add_flag("--log", isLogged, "Log messages on standard error");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &problem) {
    int status = app.exit(problem);
    return status == 0 ? 0 : 2;
  }
  using llvm::lsp::Logger;
  Logger::setLogLevel(isLogged ? Logger::Level::Info : Logger::Level::Error);
  (void)llvm::sys::ChangeStdinToBinary();
  llvm::lsp::JSONTransport transport(
      stdin, llvm::outs(), isTest ? llvm::lsp::Delimited : llvm::lsp::Standard,
      /*PrettyOutput=*/isTest);
  llvm::Error problem = lsp::serve(transport);
  if (!problem)
    return 0;
  llvm::errs() << "tpsp-lsp-server: " << llvm::toString(std::move(problem))
               << "\n";
  return 1;
}
