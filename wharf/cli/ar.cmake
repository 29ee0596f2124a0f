# `wharf ar`: commands of wharf-model.
target_sources(wharf_model PRIVATE ar_render_command.cc ar_trackers_command.cc)
target_link_libraries(wharf_model PRIVATE wharf::scene wharf::scene_files wharf::track)
