# The networks of `wharf ar`, and the commands of wharf-model that say how good and how fast they are.
target_sources(wharf_model PRIVATE ar_evaluate_command.cc ar_latency_command.cc ar_networks.cc shim_directory.cc)
target_link_libraries(wharf_model PRIVATE wharf::perception wharf::track wharf::split)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/wharf)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/data/ar ${CMAKE_BINARY_DIR}/share/wharf/ar SYMBOLIC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/ar DESTINATION share/wharf)
