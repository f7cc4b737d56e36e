data "opsconsole_specialties" "all" {}

output "keys" {
  value = data.opsconsole_specialties.all.specialties[*].key
}
