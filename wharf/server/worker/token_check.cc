#include "wharf/server/worker/token_check.h"

#include "wharf/server/front/access_control.h"

namespace wharf::server {

wire::TokenCheck CheckAgainst(const std::string& token) {
  if (token.empty()) return {};
  return [known = wire::TokensOf([token](const std::string& given) { return TokensEqual(given, token); })](
             const std::string& given) {
    return given.empty() ? Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)")
                         : known(given);
  };
}

}  // namespace wharf::server
