/**
 * For the test of foreign clients: the same use of a generated client in each language. The clock
 * of the window is local: it names no zone.
 */

export const inGo = `package main

import (
	"context"
	"fmt"
	"os"

	api "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	settings := api.NewConfiguration()
	settings.Servers = api.ServerConfigurations{{URL: os.Getenv("ANTIPODE_URL")}}
	client := api.NewAPIClient(settings)
	as := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("ANTIPODE_TOKEN"))
	in := api.NewMonitorIn("https")
	in.SetTarget("https://shop.example.com/")
	in.SetName("go")
	in.SetConfig(map[string]interface{}{"timeout_ms": 2000})
	monitor, _, err := client.MonitorsAPI.CreateMonitor(as).MonitorIn(*in).Execute()
	must(err)
	in2 := api.NewMaintenanceIn("2090-07-01T02:00:00", "2090-07-01T03:00:00")
	in2.SetMonitors([]string{monitor.Id})
	in2.SetRrule("FREQ=WEEKLY")
	window, _, err := client.MaintenanceAPI.CreateMaintenanceWindow(as).MaintenanceIn(*in2).Execute()
	must(err)
	list, _, err := client.MonitorsAPI.ListMonitors(as).Limit(200).Execute()
	must(err)
	fmt.Println(monitor.Name, monitor.GetStatus(), window.StartsAt.UTC().Format("2006-01-02T15:04Z"), len(list.Items) > 0)
}
`;

export const inJava = `import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.MaintenanceApi;
import org.openapitools.client.api.MonitorsApi;
import org.openapitools.client.model.*;

public class Use {
  public static void main(String[] given) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("ANTIPODE_URL"));
    client.setRequestInterceptor(call -> call.header("Authorization", "Bearer " + System.getenv("ANTIPODE_TOKEN")));
    MonitorIn in = new MonitorIn().type("https").target("https://shop.example.com/").name("java");
    MonitorOut monitor = new MonitorsApi(client).createMonitor(in, null, null);
    MaintenanceIn planned = new MaintenanceIn().startsAt("2090-07-01T02:00").endsAt("2090-07-01T03:00").monitors(List.of(monitor.getId())).rrule("FREQ=WEEKLY");
    MaintenanceOut window = new MaintenanceApi(client).createMaintenanceWindow(planned, null, null);
    boolean some = !new MonitorsApi(client).listMonitors(null, null, null, null, null, null, null, null, 200, null, null).getItems().isEmpty();
    System.out.println(monitor.getName() + " " + monitor.getStatus() + " " + window.getStartsAt().toInstant().toString().replace(":00Z", "Z") + " " + some);
  }
}
`;

export const inPython = `import os
import openapi_client as api

client = api.ApiClient(api.Configuration(host=os.environ['ANTIPODE_URL'], access_token=os.environ['ANTIPODE_TOKEN']))
monitors = api.MonitorsApi(client)
monitor = monitors.create_monitor(api.MonitorIn(type='https', target='https://shop.example.com/', name='python', config={'timeout_ms': 2000}))
planned = api.MaintenanceIn(starts_at='2090-07-01T02:00', ends_at='2090-07-01T03:00', monitors=[monitor.id], rrule='FREQ=WEEKLY')
window = api.MaintenanceApi(client).create_maintenance_window(planned)
some = len(monitors.list_monitors(limit=200).items) > 0
print(monitor.name, monitor.status, window.starts_at.strftime('%Y-%m-%dT%H:%MZ'), str(some).lower())
`;

export const inTypeScript = `import { Configuration, MaintenanceApi, MonitorsApi } from './index';

const settings = new Configuration({ basePath: process.env.ANTIPODE_URL!, accessToken: process.env.ANTIPODE_TOKEN! });
const use = async () => {
  const monitors = new MonitorsApi(settings);
  const monitor = await monitors.createMonitor({ monitorIn: { type: 'https', target: 'https://shop.example.com/', name: 'typescript' } });
  const maintenanceIn = { startsAt: '2090-07-01T02:00', endsAt: '2090-07-01T03:00', monitors: [monitor.id], rrule: 'FREQ=WEEKLY' };
  const window = await new MaintenanceApi(settings).createMaintenanceWindow({ maintenanceIn });
  const { items } = await monitors.listMonitors({ limit: 200 });
  console.log(monitor.name, monitor.status, window.startsAt.toISOString().replace(':00.000Z', 'Z'), items.length > 0);
};
void use();
`;
