// A network with two subnets: one that the app runs in, one for the private endpoints.

@description('Name of the network.')
param name string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Address range; two subnets of /24 are cut from its start.')
param addressPrefix string

resource vnet 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [addressPrefix]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: cidrSubnet(addressPrefix, 24, 0)
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: cidrSubnet(addressPrefix, 24, 1)
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }

  resource app 'subnets' existing = {
    name: 'app'
  }

  resource endpoints 'subnets' existing = {
    name: 'endpoints'
  }
}

output id string = vnet.id
output appSubnetId string = vnet::app.id
output endpointSubnetId string = vnet::endpoints.id
