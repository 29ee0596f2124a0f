# `wharf ar`: commands of wharf-model.
target_sources(wharf_model PRIVATE ar_client.cc ar_client_agreed.cc ar_client_command.cc ar_client_own.cc ar_frames.cc ar_render_command.cc ar_serve_command.cc
                                   ar_trackers_command.cc ar_view_command.cc ar_view_file.cc)
add_dependencies(wharf_model wharf_decode)
target_link_libraries(wharf_model PRIVATE wharf::ar_client_kit wharf::ar_finders wharf::multitask_experiment wharf::scene
                                          wharf::scene_files wharf::track)
