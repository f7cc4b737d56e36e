data "opsconsole_specialty" "linux" {
  key = "linux-server"
}

output "linux" {
  value = data.opsconsole_specialty.linux.id
}
