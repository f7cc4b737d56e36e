data "opsconsole_host" "jump" {
  id = "hst_jump"
}

output "name" {
  value = data.opsconsole_host.jump.name
}
