// Command kubernetes checks manifests: kubernetes FILE... reads each document strictly as the
// type of Kubernetes' own API that it says to be, so that no field is unknown, misplaced or of
// another type, and holds it to what the project promises of its containers. It needs no
// cluster.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	var failed error
	for _, name := range os.Args[1:] {
		n, err := check(name)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		fmt.Printf("%s: %d objects\n", name, n)
	}
	if len(os.Args) < 2 {
		failed = errors.New("usage: kubernetes FILE...")
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// types returns a value of the type of each kind that manifests may have.
func types() map[metav1.TypeMeta]any {
	of := func(kind, version string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: version} }
	return map[metav1.TypeMeta]any{
		of("ServiceAccount", "v1"): &corev1.ServiceAccount{}, of("Service", "v1"): &corev1.Service{},
		of("Deployment", "apps/v1"):                     &appsv1.Deployment{},
		of("PodDisruptionBudget", "policy/v1"):          &policyv1.PodDisruptionBudget{},
		of("HorizontalPodAutoscaler", "autoscaling/v2"): &autoscalingv2.HorizontalPodAutoscaler{},
	}
}

// check returns the number of objects in a file.
func check(name string) (n int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	documents := kubeyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if err := object(document); err != nil {
			return n, fmt.Errorf("object %d: %w", n+1, err)
		}
		n++
	}
}

// object checks one document.
func object(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	into := types()[kind]
	if into == nil {
		return fmt.Errorf("there is no check of a %s of %s", kind.Kind, kind.APIVersion)
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	switch o := into.(type) {
	case *appsv1.Deployment:
		return deployment(o)
	case *corev1.Service:
		if len(o.Spec.Ports) != 1 || o.Spec.Ports[0].TargetPort.StrVal != "http" {
			return errors.New("the service does not lead to the port http")
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if o.Spec.MinReplicas == nil || *o.Spec.MinReplicas < 2 || o.Spec.MaxReplicas < *o.Spec.MinReplicas {
			return errors.New("a single server is no service")
		}
	}
	return nil
}

// deployment holds a deployment to the promises of the image: it runs without privileges and
// writes to /data alone, it is asked for its health where it answers, and streams may end.
func deployment(d *appsv1.Deployment) error {
	pod := d.Spec.Template.Spec
	if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile == nil {
		return errors.New("the pod has privileges")
	}
	if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 40 {
		return errors.New("streams are cut: they may end for 30 s after SIGTERM, which the pause before it delays")
	}
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		return errors.New("links of services set GLOSSA_PORT, which is a setting of the server")
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		return errors.New("the pod has a token of the cluster, which it does not need")
	}
	if len(pod.Containers) != 1 {
		return fmt.Errorf("%d containers", len(pod.Containers))
	}
	return container(&pod.Containers[0])
}

func container(c *corev1.Container) error {
	s := c.SecurityContext
	if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
		return errors.New("the container has privileges, or may write to its root")
	}
	if len(c.Ports) != 1 || c.Ports[0].Name != "http" || c.Ports[0].ContainerPort != 8080 {
		return errors.New("the container does not have the port http, which is 8080")
	}
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/data" {
		return errors.New("the container does not write to /data alone")
	}
	for path, probe := range map[string]*corev1.Probe{"/health": c.LivenessProbe, "/ready": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != "http" {
			return fmt.Errorf("a probe does not ask for %s", path)
		}
	}
	if memory := c.Resources.Limits.Memory(); memory.IsZero() || !memory.Equal(*c.Resources.Requests.Memory()) {
		return errors.New("the memory is not bounded to what is requested, from which the server derives its own bounds")
	}
	return nil
}
