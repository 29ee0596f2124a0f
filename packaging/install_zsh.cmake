# Run by `cmake --install`: zsh looks elsewhere for what the distribution has. `zsh_completions` is set.
cmake_policy(VERSION 3.25)
set(zsh ${CMAKE_INSTALL_PREFIX}/share/zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
  set(zsh /usr/share/zsh/vendor-completions)
endif()
file(INSTALL ${zsh_completions} DESTINATION ${zsh})
