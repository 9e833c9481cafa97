// Private endpoints for blobs, queues and tables of both accounts, with the name zones that lead to them.

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('The network that resolves the zones.')
param vnetId string

@description('The subnet that the endpoints stand in.')
param subnetId string

@description('Accounts to reach, as [{ name: string, id: string }].')
param accounts array

var services = ['blob', 'queue', 'table']

// One entry per account and service: index / 3 is the account, index % 3 the service.
var endpointCount = length(accounts) * length(services)

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for service in services: {
    name: 'privatelink.${service}.${environment().suffixes.storage}'
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (service, i) in services: {
    parent: zones[i]
    name: 'vnet-${service}'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: vnetId
      }
    }
  }
]

resource endpoints 'Microsoft.Network/privateEndpoints@2025-05-01' = [
  for i in range(0, endpointCount): {
    name: 'pe-${accounts[i / length(services)].name}-${services[i % length(services)]}'
    location: location
    tags: tags
    properties: {
      subnet: {
        id: subnetId
      }
      privateLinkServiceConnections: [
        {
          name: services[i % length(services)]
          properties: {
            privateLinkServiceId: accounts[i / length(services)].id
            groupIds: [services[i % length(services)]]
          }
        }
      ]
    }
  }
]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [
  for i in range(0, endpointCount): {
    parent: endpoints[i]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: services[i % length(services)]
          properties: {
            privateDnsZoneId: zones[i % length(services)].id
          }
        }
      ]
    }
  }
]
